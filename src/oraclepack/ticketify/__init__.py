"""Tickets to index, actions, PRD and the pack that works them off."""
