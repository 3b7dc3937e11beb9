"""Decisions that are kept: status, assignee, and only new clashes shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thud
from tests.report.clash.planted import CLEARANCE, planted, two
from thud.errors import FileFormatError, InvalidInputError
from thud.report import Baseline, ClashReport, check
from thud.report.clash.rules import Rules

BOX = thud.Box([0.5, 0.5, 0.5]).to_mesh()


def overlap(depth: float) -> ClashReport:
    return check(two(BOX, BOX, [1.0 - depth, 0.01, 0.02]), clearance=0.1)


def test_what_is_accepted_is_not_shown_and_comes_back_from_the_file(tmp_path: Path) -> None:
    report = check(planted().scene, clearance=CLEARANCE)
    first, second = report.clashes[0].id, report.clashes[1].id
    kept = Baseline().updated(report, accept=[first[:8]], assign={second: "Åsa"}, note="weld")
    kept.save(tmp_path / "kept.json")
    again = Baseline.load(tmp_path / "kept.json")
    assert again.entries == kept.entries
    shown = again.apply(report)
    assert len(shown) == len(report) - 1
    assert [clash.id for clash in shown.known] == [first]
    assert shown.known[0].note == "weld"
    assert shown.clash(second).assignee == "Åsa"
    assert shown.clash(second).status == "open"
    everything = again.updated(shown, accept_all=True).apply(report)
    assert not everything.clashes
    assert len(everything.known) == 12
    # Decisions outlive a run without any.
    assert again.updated(shown).entries == kept.entries


def test_a_new_clash_is_new_and_one_that_went_is_gone() -> None:
    scene, _ = planted()
    report = check(scene, clearance=CLEARANCE)
    kept = Baseline().updated(report, accept_all=True)
    fewer = check(thud.io.Scene(scene.parts[:-1], scene.meshes), clearance=CLEARANCE)
    shown = kept.apply(fewer)
    assert not shown.clashes
    assert list(shown.gone.values()) == [(report.clashes[-1].name_a, report.clashes[-1].name_b)]
    resolved = kept.updated(shown)
    assert resolved.entries[report.clashes[-1].id].status == "resolved"
    assert not resolved.apply(fewer).gone
    # And back again: shown, since it had been resolved.
    back = resolved.apply(report)
    assert [clash.status for clash in back] == ["resolved"]
    assert resolved.updated(back).entries[report.clashes[-1].id].status == "open"


@pytest.mark.parametrize(
    ("before", "after", "worse"), [(0.1, 0.1, False), (0.1, 0.103, False), (0.1, 0.12, True), (0.1, 0.05, False)]
)
def test_a_clash_that_got_deeper_is_shown_again(before: float, after: float, worse: bool) -> None:
    kept = Baseline().updated(overlap(before), accept_all=True)
    shown = kept.apply(overlap(after))
    assert [clash.worse for clash in shown] == ([True] if worse else [])
    if worse:
        assert next(iter(kept.updated(shown).entries.values())).status == "open"


def test_a_graver_kind_is_worse_and_little_by_little_is_too() -> None:
    near = overlap(-0.05)
    kept = Baseline().updated(near, accept_all=True)
    assert near.clashes[0].kind == "clearance"
    assert kept.apply(overlap(0.05)).clashes[0].worse
    assert kept.apply(overlap(-0.02)).clashes[0].worse
    assert not kept.apply(overlap(-0.08)).clashes
    # Accepted at 10 %, then deeper by 4 % a run: the third is too much, since the first counts.
    depth, kept = 0.1, Baseline().updated(overlap(0.1), accept_all=True)
    shown = []
    for _ in range(3):
        depth *= 1.04
        report = kept.apply(overlap(depth))
        kept = kept.updated(report)
        shown.append(len(report))
    assert shown == [0, 1, 1]


def test_an_id_that_fits_none_or_many_is_named() -> None:
    report = check(planted().scene, clearance=CLEARANCE)
    for identity in ("zzz", ""):
        with pytest.raises(InvalidInputError, match="begins with"):
            Baseline().updated(report, accept=[identity])


HEAD = '{"format": "thud-baseline", '
GOOD = {"status": "open", "assignee": "", "note": "", "kind": "hard", "depth": 0.1, "gap": 0.0, "name_a": "a", "name_b": "b"}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "[" * 100_000, '{"format": "thud-baseline"}', HEAD + '"version": 2, "clashes": {}}',
        HEAD + '"version": 1, "clashes": []}',
        *(
            json.dumps({"format": "thud-baseline", "version": 1, "clashes": {key: value}})
            for key, value in [
                ("../../etc", GOOD), ("0123456789abc", 3), ("0123456789abc", GOOD | {"status": "fine"}),
                ("0123456789abc", GOOD | {"status": ["open"]}), ("0123456789abc", GOOD | {"kind": "soft"}),
                ("0123456789abc", GOOD | {"depth": -1.0}), ("0123456789abc", GOOD | {"depth": True}),
                ("0123456789abc", GOOD | {"depth": 10**400}), ("0123456789abc", GOOD | {"note": "x" * 20_000}),
                ("0123456789abc", GOOD | {"assignee": None}),
            ]
        ),
        HEAD + '"version": 1, "clashes": {"0123456789abc": {"status": "open", "kind": "hard", "depth": NaN}}}',
        "\xff\xfe\x00",
    ],
)  # fmt: skip
def test_hostile_baselines_are_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kept.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(FileFormatError, match=r"kept\.json"):
        Baseline.load(file)


def test_names_in_a_baseline_are_only_names(tmp_path: Path) -> None:
    report = overlap(0.1)
    hostile = replace(report.clashes[0], name_a="</script>\x1b[31m\u2028", note="=1+1")
    kept = Baseline().updated(replace(report, clashes=(hostile,)))
    kept.save(tmp_path / "kept.json")
    assert Baseline.load(tmp_path / "kept.json").entries[hostile.id].name_a == hostile.name_a
    assert np.all(np.frombuffer((tmp_path / "kept.json").read_bytes(), dtype=np.uint8) < 128)


def test_what_a_check_did_not_look_at_is_not_gone() -> None:
    scene, _ = planted()
    full = check(scene, clearance=CLEARANCE)
    kept = Baseline().updated(full, accept_all=True)
    one = full.clashes[0]
    for narrow in (
        check(scene, clearance=CLEARANCE, rules=Rules(a=[one.name_a])),
        check(scene, clearance=CLEARANCE, rules=Rules(ignore=["*"])),
        check(scene),
    ):
        left_out = {clash.id for clash in full} - {clash.id for clash in narrow}
        assert left_out
        shown = kept.apply(narrow)
        assert not shown.gone
        assert not kept.updated(shown).apply(full).clashes


def test_a_contact_is_nothing_to_accept() -> None:
    report = check(two(BOX, BOX, [1.0, 0.01, 0.02]))
    with pytest.raises(InvalidInputError, match="contact"):
        Baseline().updated(report, accept=[report.contacts[0].id])
    listed = check(two(BOX, BOX, [1.0, 0.01, 0.02]), rules=Rules(touching="clash"))
    kept = Baseline().updated(listed, accept=[listed.clashes[0].id])
    assert not kept.apply(listed).clashes
    assert not kept.apply(check(two(BOX, BOX, [1.0, 0.01, 0.02]), rules=Rules(touching="ignore"))).gone
