"""Handles of bodies, and rows and names that go with them."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError, StaleHandleError


def test_rows_without_a_body_have_no_handle() -> None:
    # A wrong row gave a raw IndexError, a free one a handle that nobody had given out.
    world = thud.World()
    handles = world.add_many(thud.Sphere(0.5), thud.Pose([[0, 0, 0], [0.5, 0, 0], [9, 0, 0]]))
    np.testing.assert_array_equal(world.handle_of(world.pairs()), [[handles[0], handles[1]]])
    assert world.handle_of(np.empty((0, 2), int)).shape == (0, 2)
    world.remove(handles[1])
    for wrong in (1, 3, -1, 10**9, [0, 1], [[0.5]], "name"):
        with pytest.raises(InvalidInputError, match="indices"):
            world.handle_of(wrong)
    with pytest.raises(InvalidInputError):
        thud.World().handle_of(0)


def test_nobody_has_no_name() -> None:
    world = thud.World()
    world.add(thud.Sphere(0.5), name="ball")
    hits = world.raycast([[0, 0, 5], [3, 0, 5]], [0, 0, -1])
    assert [world.name(handle) for handle in hits.handle] == ["ball", None]
    with pytest.raises(StaleHandleError):
        world.name(-2)
