"""Commands for maintainers, run from a checkout."""
