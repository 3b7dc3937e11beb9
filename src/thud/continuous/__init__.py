"""Time of impact."""
