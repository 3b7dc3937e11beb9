"""Collision with a displaced surface: the walk, booleans, distances, contacts, casts, rays."""
