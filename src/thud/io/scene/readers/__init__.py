"""What runs in the process that reads a file. Nothing here imports Numba: the process has to start fast."""
