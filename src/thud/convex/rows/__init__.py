"""Kernels over rows of pairs, rays and points."""
