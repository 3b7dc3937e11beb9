"""Extent, normals, depth and ids of contacts, where the truth is known by construction."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.ground_contacts import check, make_case, pairs, run

#: Cases of each pair of kinds.
CASES = 6 if os.environ.get("THUD_TEST_SIZE") == "small" else 25

#: Cases of seed 0 that were wrong: kind, ground, numbers.
KNOWN = {
    "the deepest point is there or not whichever body is first": [
        ("Capsule", "Box", 3901), ("Capsule", "ConvexHull", 2258, 2551, 3441),
    ],
    "the normal of a flat face on a curved shape is exact": [("Cylinder", "Cone", 2866)],
    "of points as deep the same one is kept": [("ConvexHull mesh", "cube mesh", 42, 144, 301, 852, 3288, 3747)],
    "of two faces within a degree the same one gives the normal": [
        ("Box mesh", "cube mesh", 3687), ("Box mesh", "floor mesh", 518), ("ConvexHull mesh", "cube mesh", 2516, 3202),
    ],
    "a body inside another has a patch": [("ConvexHull mesh", "cube mesh", 219, 267, 1050, 3544, 3580)],
    "a point near two edges is named by the nearer one": [("ConvexHull mesh", "cube mesh", 3060)],
    "a normal along an edge leans over it by nothing": [("Box mesh", "floor mesh", 2773)],
    "corners belong to a direction in use": [
        ("Box mesh", "underside", 416), ("ConvexHull mesh", "underside", 646, 3075, 3457),
        ("ConvexHull mesh", "field wall", 75, 465, 681, 995, 1114, 1418),
    ],
    "a corner below an open floor all of whose facets cross it": [("ConvexHull mesh", "floor mesh", 179)],
    "a corner leaves the ground through another prism": [("ConvexHull mesh", "height field", 544, 579, 595, 2929, 3616, 3853)],
    "the deepest point does not cost the width": [
        ("ConvexHull mesh", "floor mesh", 3094), ("ConvexHull mesh", "underside", 1084),
        ("ConvexHull mesh", "field wall", 1195, 1691),
    ],
    "sides that sink in do not cost the corners of the face that carries": [("ConvexHull mesh", "underside", 359)],
    "a tip below a triangle that it does not meet, at a graze": [("Cone", "field wall", 2613)],
    "a curved shape within the margin of a flat one, by less than a search is off": [("Ellipsoid", "Box", 812)],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "ground"), pairs())
def test_shapes_on_ground(kind, ground):
    assert not run(kind, ground, CASES, seed=2)


@pytest.mark.parametrize("what", KNOWN)
def test_known_cases(what):
    for kind, ground, *numbers in KNOWN[what]:
        for number in numbers:
            assert not check(make_case(kind, ground, number, seed=0)), (kind, ground, number)
