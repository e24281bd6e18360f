"""Answers to work: records, backlog, change plan, exports."""
