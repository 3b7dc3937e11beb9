"""Files of every format, made by each format's own library (STEP by hand: no package at hand writes it)."""
