"""Columns of pairs of facets."""

# Whole numbers: facets of A and B; direction, -2 - d if that is no normal there; whether they cross.
OF_A, OF_B, BELONGS, CROSSES = 0, 1, 2, 3
PAIR_INTS = 4

# Numbers: distance, unit normal from A to B, point midway of the closest points; way out along the direction.
GAP, GAP_NORMAL, GAP_MIDDLE, WAY = 0, 1, 4, 7
PAIR_REALS = 8
