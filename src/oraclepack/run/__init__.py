"""Running a pack: planning, steps, outputs, recovery, rollback."""
