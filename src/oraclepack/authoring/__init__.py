"""Writing packs: generate, new, upgrade, and the skills for agents."""
