"""Paths of particles: where they start, fly, bounce and rest."""
