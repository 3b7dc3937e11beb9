"""thud tells a program what touches what, where, how deep and when."""
