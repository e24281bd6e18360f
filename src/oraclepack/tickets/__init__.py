"""Tickets to index, actions, PRD and action pack."""
