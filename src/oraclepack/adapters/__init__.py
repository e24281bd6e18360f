"""The world: disk, processes, clock, environment. Nothing else in the program touches them."""
