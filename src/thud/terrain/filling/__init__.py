"""Filling a store: sources of tiles, and what makes tiles of them."""
