"""Queries of height fields: ground over a regular grid (`shapes/height_field.py`)."""
