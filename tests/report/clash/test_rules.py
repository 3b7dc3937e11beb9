"""Which pairs are looked at, and how clashes are put together."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene
from thud.report import Rules, check
from thud.report.clash.groups import part_types

BOX = thud.Box([0.5, 0.5, 0.5]).to_mesh()
NAMES = ["hall/pipes/main", "hall/pipes/side", "hall/beams/one", "plant/[pump]", "plant/screw.1", "plant/screw.2", "loose"]


def heap(names: list[str] = NAMES) -> Scene:
    """All overlap all, none twice in one place."""
    places = 0.03 * np.arange(len(names))[:, None] * [1.0, 0.7, 0.3]
    return Scene.from_parts(names, [BOX] * len(names), thud.Pose(places))


def pairs(rules: Rules) -> set[frozenset[str]]:
    report = check(heap(), rules=rules, volumes=False, search="quick")
    assert report.pairs_tested + report.pairs_ignored == 21
    return {frozenset((clash.name_a, clash.name_b)) for clash in report}


def test_without_rules_all() -> None:
    assert len(pairs(Rules())) == 21


def test_a_against_b_and_against_the_rest() -> None:
    assert pairs(Rules(a=["hall/pipes/*"], b=["hall/beams/*"])) == {
        frozenset(("hall/pipes/main", "hall/beams/one")), frozenset(("hall/pipes/side", "hall/beams/one")),
    }  # fmt: skip
    # One that is in both counts once, and a selection against itself has its own pairs.
    assert pairs(Rules(a="hall/pipes", b="hall/pipes")) == {frozenset(("hall/pipes/main", "hall/pipes/side"))}
    assert all("loose" in pair for pair in pairs(Rules(a="loose")))
    assert len(pairs(Rules(a="loose"))) == 6


def test_ignored_by_full_name_last_level_branch_and_literal_brackets() -> None:
    assert not any("plant/screw.1" in pair for pair in pairs(Rules(ignore=["screw*"])))
    assert len(pairs(Rules(ignore=["plant"]))) == 6
    assert len(pairs(Rules(ignore=["plant/[[]pump]"]))) == 15
    assert len(pairs(Rules(ignore=["SCREW*"]))) == 21
    # From any level on, and by whole levels.
    assert pairs(Rules(ignore=["pipes"])) == pairs(Rules(ignore=["hall/pipes"])) == pairs(Rules(ignore=["pipes/*"]))
    assert len(pairs(Rules(ignore=["pipe"]))) == 21


def test_ignored_pairs_in_either_order() -> None:
    left = pairs(Rules(ignore_pairs=[("screw*", "hall/*")]))
    assert len(left) == 21 - 6
    assert left == pairs(Rules(ignore_pairs=[("hall/*", "screw*")]))


def test_one_parent() -> None:
    left = pairs(Rules(same_parent=True))
    assert len(left) == 21 - 1 - 3
    assert frozenset(("hall/pipes/main", "hall/pipes/side")) not in left
    # Parts without a parent have none in common.
    scene = Scene.from_parts(["a", "b"], [BOX, BOX], thud.Pose([[0, 0, 0], [0.1, 0.2, 0.3]]))
    assert len(check(scene, rules=Rules(same_parent=True))) == 1


def test_touching() -> None:
    scene = Scene.from_parts(["a", "b"], [BOX, BOX], thud.Pose([[0, 0, 0], [1.0, 0.0, 0.0]]))
    listed, ignored, counted = (check(scene, rules=Rules(touching=touching)) for touching in ("list", "ignore", "clash"))
    assert (len(listed), len(listed.contacts)) == (0, 1)
    assert (len(ignored), len(ignored.contacts)) == (0, 0)
    assert (len(counted), len(counted.contacts)) == (1, 0)


@pytest.mark.parametrize(
    "wrong",
    [{"a": [""]}, {"ignore": [3]}, {"ignore_pairs": ["ab"]}, {"touching": "no"}, {"b": ["x"]}, {"ignore": ["*" * 2000]}],
)
def test_wrong_rules_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Rules(**wrong)  # type: ignore[arg-type]


def test_patterns_of_many_stars_end() -> None:
    scene = Scene.from_parts(["a" * 200, "b"], [BOX, BOX])
    assert len(check(scene, rules=Rules(ignore=["*a" * 100 + "x"]))) == 1


def screws() -> Scene:
    """Twelve screws in a plate and a pair elsewhere."""
    plate = thud.Box([2.0, 0.5, 0.1]).to_mesh()
    screw = thud.Cylinder(0.05, 0.2).to_mesh(8)
    names = ["plate", *(f"screws/M4 ({k})" for k in range(12)), "x/rod", "y/rod_2"]
    places = [[0, 0, 0], *([-1.8 + 0.3 * k, 0, 0] for k in range(12)), [0, 5, 0], [0.05, 5, 0]]
    return Scene.from_parts(names, [plate, *[screw] * 12, screw, screw], thud.Pose(places))


def test_twelve_clashes_of_one_plate_are_one_line() -> None:
    report = check(screws(), volumes=False)
    assert len(report) == 13
    groups = report.groups()
    assert sorted(len(group) for group in groups) == [1, 12]
    big = max(groups, key=len)
    assert big.title == "plate and 12 parts"
    assert [clash.id for clash in big.clashes] == [clash.id for clash in report if clash.id in {c.id for c in big.clashes}]
    by_type = report.groups("type")
    assert sorted(len(group) for group in by_type) == [1, 12]
    assert len(report.groups("none")) == 13
    assert sum(len(group) for group in report.groups("part")) == 13
    with pytest.raises(InvalidInputError, match="by"):
        report.groups("size")


def test_types_are_of_one_geometry_or_one_stem() -> None:
    types = part_types(screws())
    assert len(set(types[1:])) == 1
    assert types[0] == "plate"


def test_patterns_that_fit_nothing_are_told() -> None:
    rules = Rules(a=["hall/pipes", "pipe"], ignore=["loose"], ignore_pairs=[("screw*", "bolt*")])
    assert check(heap(), rules=rules, volumes=False, search="quick").notes == (
        "a: no part has a name that 'pipe' fits", "ignore: no part has a name that 'bolt*' fits",
    )  # fmt: skip


def test_a_line_names_parts_that_are_in_it() -> None:
    # All are of one geometry, which the first part, far away, gives its name to.
    names = ["elsewhere", "left a", "right a", "left b", "right b"]
    places = [[9, 0, 0], [0, 0, 0], [0.9, 0, 0], [0, 5, 0], [0.9, 5, 0]]
    report = check(Scene.from_parts(names, [BOX] * 5, thud.Pose(places)), volumes=False)
    (line,) = report.groups()
    assert line.title == "left a and right a, and 1 alike"
    numbered = Scene.from_parts(["elsewhere", "left 1", "right 1", "left 2", "right 2"], [BOX] * 5, thud.Pose(places))
    assert check(numbered, volumes=False).groups()[0].title == "left and right"
    assert report.summary() == "2 clashes in 5 parts: 2 hard"
