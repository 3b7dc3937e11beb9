"""Pair tests of convex parts and of what is made of them. See ARCHITECTURE.md for the walk of one query."""
