"""Running a pack: opening a run, driving its steps, taking back what must be taken back."""
