"""What the Hypothesis tests of this folder share."""

from hypothesis import settings
from hypothesis import strategies as st

#: No deadline: the first example compiles.
steady = settings(deadline=None, max_examples=80)

#: Small integers make touching, parallel and coplanar cases; rough floats make all others.
whole = st.integers(-3, 3).map(float)
rough = st.floats(-4.0, 4.0).filter(lambda x: x == 0 or abs(x) > 1e-60)
coordinate = st.one_of(whole, rough)


def points(width, count, of=coordinate):
    """`count` points of `width` coordinates."""
    return st.tuples(*[st.tuples(*[of] * width)] * count)
