"""Formulas that know no shape class."""
