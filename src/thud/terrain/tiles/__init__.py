"""Terrain larger than memory: tiles as records that kernels read in place, their sphere trees, and the store they lie in."""
