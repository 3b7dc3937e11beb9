"""What everything stands on: compile decorators, the kernel cache and its keys."""
