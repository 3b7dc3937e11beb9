"""The `Robot` of what a reader found."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import SceneReaderError
from thud.io.scene.robot import JOINT_KINDS, Joint, Robot
from thud.io.scene.text import printable
from thud.pose import Pose


def robot_of(found: dict[str, Any], rows: list[int], poses: list[Pose], metres: float, turn: Floats) -> Robot:
    """The robot of a file, whose links, joints and rows are checked here once more.

    rows : which of the file's parts are in the scene
    poses : those in their links' frames
    metres, turn : the file's unit, and what turns its up axis to z
    """
    try:
        links = tuple(printable(link, 200) for link in found["links"])
        joints = tuple(_joint(row, metres) for row in found["joints"])
        known, children = set(links), [joint.child for joint in joints]
        if len(known) != len(links) or len(set(children)) != len(children) or not known.issuperset(children):
            raise ValueError("links and joints that make a tree")
        order = {link: k for k, link in enumerate(links)}
        if any(order[joint.parent] >= order[joint.child] for joint in joints):
            raise ValueError("parents before children")
        names = {joint.name for joint in joints}
        if len(names) != len(joints) or any(joint.mimic and joint.mimic not in names for joint in joints):
            raise ValueError("joints of different names")
        part_links = np.array(found["parts"], dtype=np.int64)[rows]
        if len(part_links) and not (part_links.min() >= 0 and part_links.max() < len(links)):
            raise ValueError("parts of links that exist")
        base = np.eye(4)
        base[:3, :3] = turn
        bases = np.array([np.eye(4) if link in children else base for link in links]).reshape(-1, 4, 4)
        local = np.array([pose.matrix for pose in poses]).reshape(-1, 4, 4)
        name = printable(found["name"], 200)
    except Exception as error:
        raise SceneReaderError(f"the robot that the reader left is not whole ({printable(error, 200)})") from None
    return Robot(name, links, joints, part_links, Pose.from_matrix(local), Pose.from_matrix(bases))


def _joint(row: dict[str, Any], metres: float) -> Joint:
    matrix = np.array(row["origin"], dtype=np.float64).reshape(4, 4)
    matrix[:3, 3] *= metres
    axis = np.array(row["axis"], dtype=np.float64)
    scale = metres if row["kind"] == "prismatic" else 1.0
    lower, upper = scale * float(row["lower"]), scale * float(row["upper"])
    if row["kind"] not in JOINT_KINDS or not np.isfinite([*axis, lower, upper]).all() or lower > upper:
        raise ValueError(f"joint {row['name']!r}")
    return Joint(
        printable(row["name"], 200),
        row["kind"],
        printable(row["parent"], 200),
        printable(row["child"], 200),
        Pose.from_matrix(matrix),
        tuple(axis.tolist()),
        lower,
        upper,
        printable(row["mimic"], 200),
        float(row["mimic_factor"]),
        float(row["mimic_offset"]) * scale,
    )
