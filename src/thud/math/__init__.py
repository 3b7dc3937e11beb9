"""Vectors, quaternions and poses as device functions on plain floats and tuples; they know no arrays of the user's."""
