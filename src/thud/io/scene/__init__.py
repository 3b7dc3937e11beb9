"""Scenes of named parts from files: assemblies, buildings, robots."""
