"""How a question reaches a provider, and what we know of the providers' HTTP."""
