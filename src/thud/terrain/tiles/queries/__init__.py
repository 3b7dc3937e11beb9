"""Queries of a terrain through its tiles: for the pair table."""
