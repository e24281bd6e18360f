"""What happens to each call of a tool while steps run: the use case of one invocation."""
