"""Links of a robot that collide always, sometimes or never."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.io.scene.robot import Joint, Robot
from thud.io.scene.scene import Part, Scene
from thud.report import ClashReport, Rules, check
from thud.report.clash.robot import LinkPair

BAR = thud.Box([0.5, 0.04, 0.04]).to_mesh()
POST = thud.Box([0.05, 0.05, 0.3]).to_mesh()


def arm() -> Scene:
    """A base, an upper arm that turns about it, a forearm that turns about its end and can fold back, and a post that stands
    still."""
    joints = (
        Joint("shoulder", "revolute", "base", "upper", thud.Pose([0, 0, 0.1]), (0, 0, 1), -0.5, 0.5),
        Joint("elbow", "revolute", "upper", "fore", thud.Pose([1.05, 0, 0.1]), (0, 0, 1), 0.0, np.pi),
        Joint("wrist", "revolute", "fore", "hand", thud.Pose([1.0, 0, -0.1]), (0, 0, 1), 0.0, 0.1),
    )
    links = ("base", "upper", "fore", "hand")
    own = [
        thud.Pose([0, 0, 0]),
        thud.Pose([0.5, 0, 0]),
        thud.Pose([0.5, 0, 0]),
        thud.Pose([0.1, 0, 0]),
        thud.Pose([1.0, 0.62, 0.1]),
    ]
    base, hand = thud.Box([0.1, 0.1, 0.05]).to_mesh(), thud.Box([0.05, 0.04, 0.04]).to_mesh()
    names = ("arm/base", "arm/upper", "arm/fore", "arm/hand", "post")
    rows = np.concatenate([pose.rows.reshape(1, 12) for pose in own])
    robot = Robot(
        "arm",
        links,
        joints,
        np.array([0, 1, 2, 3, -1]),
        thud.Pose.from_rows(rows),
        thud.Pose.from_rows(np.tile(thud.Pose().rows.reshape(1, 12), (4, 1))),
    )
    meshes = (base, BAR, hand, POST)
    where = thud.Pose.from_array(robot.poses(robot.rest[None])[0])
    kinds = (0, 1, 1, 2, 3)
    parts = tuple(Part(name, mesh, pose, name.rpartition("/")[0], kind="link") for name, mesh, pose in zip(names, kinds, where))
    return Scene(parts, meshes, robot=robot)


@pytest.fixture(scope="module")
def report() -> ClashReport:
    return check(arm(), configurations=300, seed=1)


def test_links_that_a_joint_connects_are_left_out(report: ClashReport) -> None:
    pairs = {(pair.link_a, pair.link_b) for pair in report.links}
    assert pairs == {
        ("base", "fore"), ("base", "hand"), ("hand", "upper"), ("base", "post"), ("post", "upper"), ("fore", "post"),
        ("hand", "post"),
    }  # fmt: skip
    every = check(arm(), configurations=20, rules=Rules(adjacent=False))
    assert {("base", "upper"), ("fore", "upper"), ("fore", "hand")} <= {(pair.link_a, pair.link_b) for pair in every.links}


def test_verdicts_are_those_of_every_configuration_asked_one_by_one(report: ClashReport) -> None:
    scene = report.scene
    robot = scene.robot
    assert robot is not None
    values = np.concatenate([robot.rest[None], robot.sample(300, seed=1)])
    poses = robot.poses(values)
    rows = {"base": 0, "upper": 1, "fore": 2, "hand": 3, "post": 4}
    for pair in report.links:
        a, b = rows[pair.link_a], rows[pair.link_b]
        hits = thud.intersects(scene.mesh_of(a), scene.mesh_of(b), poses[:, a], poses[:, b])
        assert pair.share == pytest.approx(hits.mean())
        assert pair.verdict == ("never" if not hits.any() else "always" if hits.all() else "sometimes")
        if hits.any():
            np.testing.assert_allclose(pair.configuration, values[np.argmax(hits)])
    assert {pair.verdict for pair in report.links} >= {"never", "sometimes"}


def test_the_configuration_shows_the_clash(report: ClashReport) -> None:
    clashes = [clash for clash in report if clash.configuration]
    assert clashes
    assert len(clashes) == sum(pair.verdict != "never" and not pair.at_rest for pair in report.links)
    for clash in clashes:
        assert clash.depth < 0.5
        poses = report.poses(clash)
        meshes = [report.scene.mesh_of(row) for row in (clash.a, clash.b)]
        assert thud.intersects(*meshes, poses[clash.a], poses[clash.b])[0]
        away = thud.Pose(clash.normal * clash.depth * (1 + 1e-6)) @ thud.Pose.from_array(poses[clash.b])
        assert not thud.intersects(*meshes, poses[clash.a], away)[0]
        # Not at rest.
        assert not thud.intersects(*meshes, report.scene.parts[clash.a].pose, report.scene.parts[clash.b].pose)[0]
    assert thud.picture(report, clashes[0], width=80, height=60).shape == (60, 80, 3)


def test_what_always_collides_is_said_once() -> None:
    scene = arm()
    # The post through the base.
    assert scene.robot is not None
    rows = scene.robot.part_poses.rows.reshape(-1, 12).copy()
    rows[4, 9:] = [0.02, 0.0, 0.0]
    robot = Robot(
        scene.robot.name,
        scene.robot.links,
        scene.robot.all_joints,
        scene.robot.part_links,
        thud.Pose.from_rows(rows),
        scene.robot.bases,
    )
    parts = (*scene.parts[:4], Part("post", 3, thud.Pose([0.02, 0.0, 0.0])))
    report = check(Scene(parts, scene.meshes, robot=robot), configurations=50)
    pair = next(pair for pair in report.links if {pair.link_a, pair.link_b} == {"base", "post"})
    assert (pair.verdict, pair.share, pair.at_rest) == ("always", 1.0, True)
    assert sum({clash.name_a, clash.name_b} == {"arm/base", "post"} for clash in report) == 1


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_links_that_touch_or_are_near_at_rest_and_overlap_elsewhere_clash(gap: float) -> None:
    joints = (
        Joint("turn", "revolute", "base", "table", thud.Pose(), (0, 0, 1), -1.0, 1.0),
        Joint("lift", "prismatic", "table", "block", thud.Pose([0, 0, 0.75 + gap]), (0, 0, 1), -0.2, 0.4),
    )
    own = thud.Pose.from_rows(np.tile(thud.Pose().rows.reshape(1, 12), (2, 1)))
    bases = thud.Pose.from_rows(np.tile(thud.Pose().rows.reshape(1, 12), (3, 1)))
    robot = Robot("press", ("base", "table", "block"), joints, np.array([0, 2]), own, bases)
    meshes = thud.Box([0.5, 0.5, 0.5]).to_mesh(), thud.Box([0.25, 0.25, 0.25]).to_mesh()
    where = thud.Pose.from_array(robot.poses(robot.rest[None])[0])
    parts = tuple(Part(f"press/{n}", k, where[k], "press", kind="link") for k, n in enumerate(("base", "block")))
    report = check(Scene(parts, meshes, robot=robot), configurations=50, clearance=0.1)
    # One row a pair, the graver one.
    assert [clash.kind for clash in report] == ["hard"]
    assert not report.contacts
    assert report.clashes[0].configuration[1] < -gap
    assert report.clashes[0].depth == pytest.approx(-gap - report.clashes[0].configuration[1])


@pytest.mark.parametrize(
    ("share", "said"), [(1 / 201, "<1 %"), (0.5, "50 %"), (200 / 201, ">99 %"), (1.0, "100 %"), (0.0, "0 %")]
)
def test_what_is_rare_is_not_told_as_never(share: float, said: str) -> None:
    verdict = "always" if share == 1.0 else "sometimes" if share else "never"
    assert LinkPair("a", "b", verdict, share, False, (), None, np.empty((0, 3), dtype=np.int64)).share_text == said
