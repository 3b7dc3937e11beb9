"""Pictures of what was computed, as arrays: the layer between the library and the command line."""
