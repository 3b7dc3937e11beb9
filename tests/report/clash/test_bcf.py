"""BCF files against the rules of the schemas, and against the report."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from tests.report.clash.bcf_rules import faults
from tests.report.clash.test_writers import hostile_report
from thud.report import Baseline, ClashReport, check, clash_pictures, write_bcf
from thud.report.clash.assembly import assembly
from thud.report.clash.bcf import topic_guid

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def report() -> ClashReport:
    scene = assembly()
    # Two parts have global ids as IFC has them, one has something else.
    parts = list(scene.parts)
    for row, guid in ((0, "2O2Fr$t4X7Zf8NOew3FLOH"), (3, "1xS3BCk291UvhgP2dvNMKI"), (4, "not one")):
        parts[row] = replace(parts[row], guid=guid, source="pump.ifc")
    found = check(replace(scene, parts=tuple(parts)), clearance=0.001)
    return (
        Baseline()
        .updated(found, accept=[found.clashes[0].id], note="as built", assign={found.clashes[1].id: "Bo"})
        .apply(found)
    )


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_document_keeps_the_rules(report: ClashReport, tmp_path: Path) -> None:
    write_bcf(report, tmp_path / "r.bcfzip", clash_pictures(report, width=64, height=48), date=WHEN)
    files = read(tmp_path / "r.bcfzip")
    assert next(iter(files)) == "bcf.version"
    for name, data in files.items():
        if not name.endswith(".png"):
            assert data.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
            assert not faults(ET.fromstring(data)), name
    topics = {name.split("/")[0] for name in files if "/" in name}
    assert topics == {topic_guid(clash.id) for clash in (*report.clashes, *report.known)}
    assert len(topics) == 8
    for topic in topics:
        assert {name for name in files if name.startswith(topic)} == {
            f"{topic}/{name}" for name in ("markup.bcf", "viewpoint.bcfv", "snapshot.png")
        }
        markup, view = ET.fromstring(files[f"{topic}/markup.bcf"]), ET.fromstring(files[f"{topic}/viewpoint.bcfv"])
        assert markup.find("Topic").attrib["Guid"] == topic
        assert markup.find("Viewpoints").attrib["Guid"] == view.attrib["Guid"]
        assert struct.unpack(">II", files[f"{topic}/snapshot.png"][16:24]) == (64, 48)


def test_a_topic_says_what_the_clash_is(report: ClashReport, tmp_path: Path) -> None:
    write_bcf(report, tmp_path / "r.bcfzip", date=WHEN)
    files = read(tmp_path / "r.bcfzip")
    assert not any(name.endswith(".png") for name in files)
    for clash in (*report.clashes, *report.known):
        topic = ET.fromstring(files[f"{topic_guid(clash.id)}/markup.bcf"])
        assert topic.findtext("Topic/Title") == f"{clash.kind}: {clash.name_a} and {clash.name_b}"
        assert clash.id in topic.findtext("Topic/Description")
        assert topic.findtext("Topic/CreationDate") == "2026-01-02T03:04:05Z"
        assert topic.find("Topic").attrib["TopicStatus"] == ("Closed" if clash.status == "accepted" else "Open")
        assert topic.findtext("Topic/AssignedTo", "") == clash.assignee
        assert topic.findtext("Comment/Comment", "") == clash.note
        view = ET.fromstring(files[f"{topic_guid(clash.id)}/viewpoint.bcfv"])
        place, way, up = (
            np.array([float(view.findtext(f"PerspectiveCamera/{name}/{axis}")) for axis in "XYZ"])
            for name in ("CameraViewPoint", "CameraDirection", "CameraUpVector")
        )
        assert np.linalg.norm(way) == pytest.approx(1.0)
        assert way @ up == pytest.approx(0.0, abs=1e-9)
        # The clash is in the middle of the picture.
        off = clash.point - place
        assert np.linalg.norm(np.cross(off, way)) < 1e-9 * np.linalg.norm(off) + 1e-12
        named = [part.attrib["IfcGuid"] for part in view.findall("Components/Selection/Component")]
        assert named == [guid for guid in (clash.guid_a, clash.guid_b) if guid not in (None, "not one")]


def test_files_of_one_time_are_the_same(report: ClashReport, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_bcf(report, tmp_path / name, date=WHEN)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    write_bcf(hostile_report(), tmp_path / "r.bcfzip", date=WHEN)
    for name, data in read(tmp_path / "r.bcfzip").items():
        assert name == "bcf.version" or name.split("/")[1] in ("markup.bcf", "viewpoint.bcfv")
        assert not faults(ET.fromstring(data)), name


def test_the_rules_find_faults() -> None:
    good = ET.fromstring(f'<Viewpoints Guid="{topic_guid("a")}"><Viewpoint>v</Viewpoint><Snapshot>s</Snapshot></Viewpoints>')
    assert not faults(good)
    swapped = f'<Viewpoints Guid="{topic_guid("a")}"><Snapshot>s</Snapshot><Viewpoint>v</Viewpoint></Viewpoints>'
    nameless = "<Viewpoints><Viewpoint>v</Viewpoint></Viewpoints>"
    for wrong in (swapped, nameless, '<Viewpoints Guid="x"/>', "<Markup/>", "<Version VersionId='2.0'/>", "<Nothing/>"):
        assert faults(ET.fromstring(wrong)), wrong
