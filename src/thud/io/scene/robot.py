"""`Robot`: links and joints of a scene, and where its parts are in many configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array
from thud.errors import InvalidInputError
from thud.io.scene.names import UniqueNames
from thud.pose import Pose, as_poses
from thud.rotations import quaternion_from_rotation

#: Kinds of joints: without motion, about an axis with and without limits, along an axis.
JOINT_KINDS = ("fixed", "revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Joint:
    """A joint between two links.

    Attributes
    ----------
    name : its name
    kind : "fixed", "revolute", "continuous" or "prismatic"
    parent, child : names of links
    origin : the joint's frame in that of the parent link
    axis : (3,) unit, in the joint's frame
    lower, upper : limits, radians or metres; -pi and pi for continuous ones, 0 and 0 for fixed ones
    mimic : "" or the joint that it follows: value = mimic_factor * that one's + mimic_offset
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Pose
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    lower: float = 0.0
    upper: float = 0.0
    mimic: str = ""
    mimic_factor: float = 1.0
    mimic_offset: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Robot:
    """Links in a tree (or several), joints between them, and which part of the scene belongs to which link.

    Attributes
    ----------
    name : its name
    links : names of links; a link comes after its parent
    all_joints : every joint, fixed and mimicking ones too, in the order of their child links
    part_links : (P,) row of `links` for each part of the scene, -1 for parts that stand still
    part_poses : P rows, each part in its link's frame, or in the scene's if it stands still
    bases : one row a link: the pose of a root link in the scene (the identity for others)
    """

    name: str
    links: tuple[str, ...]
    all_joints: tuple[Joint, ...]
    part_links: npt.NDArray[np.int64]
    part_poses: Pose
    bases: Pose

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, {len(self.links)} links, {len(self.joints)} joints)"

    @property
    def part_count(self) -> int:
        """Parts of the scene that it was made for."""
        return len(self.part_links)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The J joints that a configuration has a value for: neither fixed nor mimicking."""
        return tuple(joint for joint in self.all_joints if joint.kind != "fixed" and not joint.mimic)

    @cached_property
    def limits(self) -> Floats:
        """(J, 2) lower and upper, radians or metres."""
        return np.array([(joint.lower, joint.upper) for joint in self.joints], dtype=np.float64).reshape(-1, 2)

    @cached_property
    def rest(self) -> Floats:
        """(J,) zero, or the nearest value within the limits."""
        return np.clip(np.zeros(len(self.joints)), self.limits[:, 0], self.limits[:, 1])

    @cached_property
    def adjacent(self) -> tuple[tuple[str, str], ...]:
        """Pairs of links that a joint connects, sorted; links that fixed joints hold together count as one for that."""
        rigid = {link: link for link in self.links}
        parents = {joint.child: joint for joint in self.all_joints}
        for link in self.links:
            joint = parents.get(link)
            if joint is not None and joint.kind == "fixed":
                rigid[link] = rigid[joint.parent]
        groups: dict[str, list[str]] = {}
        for link in self.links:
            groups.setdefault(rigid[link], []).append(link)
        pairs = set()
        for joint in self.all_joints:
            for a in groups[rigid[joint.parent]]:
                for b in groups[rigid[joint.child]]:
                    if a != b:
                        pairs.add((min(a, b), max(a, b)))
        return tuple(sorted(pairs))

    def link_of(self, part: int) -> str:
        """The link of a part, "" for one that stands still."""
        row = int(self.part_links[part])
        return self.links[row] if row >= 0 else ""

    def sample(self, count: int, *, seed: int = 0) -> Floats:
        """(count, J) configurations, uniform within the limits."""
        random = np.random.default_rng(seed)
        lower, upper = self.limits[:, 0], self.limits[:, 1]
        return lower + (upper - lower) * random.random((count, len(self.joints)))

    def poses(self, configurations: npt.ArrayLike) -> Floats:
        """Where the scene's parts are.

        Parameters
        ----------
        configurations : (C, J) or (J,) values of `joints`, radians or metres

        Returns
        -------
        (C, P, 7) rows [x y z qw qx qy qz], as queries of many configurations take them
        """
        values = finite_array(configurations, "configurations")
        values = values[None] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(self.joints):
            raise InvalidInputError(
                f"configurations: expected (C, {len(self.joints)}), a column for each of robot.joints, got {values.shape}"
            )
        links = self.link_matrices(values)
        parts = np.empty((len(values), self.part_count, 7))
        local = self.part_poses.matrix.reshape(-1, 4, 4)
        for k, link in enumerate(self.part_links):
            world = links[:, link] @ local[k] if link >= 0 else np.broadcast_to(local[k], (len(values), 4, 4))
            parts[:, k, :3] = world[:, :3, 3]
            parts[:, k, 3:] = quaternion_from_rotation(np.ascontiguousarray(world[:, :3, :3]).reshape(-1, 9))
        return parts

    def link_matrices(self, values: Floats) -> Floats:
        """(C, L, 4, 4) poses of the links in the scene, for (C, J) values."""
        columns = {joint.name: values[:, k] for k, joint in enumerate(self.joints)}
        by_name = {joint.name: joint for joint in self.all_joints}
        rows = {link: row for row, link in enumerate(self.links)}
        above = {joint.child: joint for joint in self.all_joints}
        bases = self.bases.matrix.reshape(-1, 4, 4)
        out = np.empty((len(values), len(self.links), 4, 4))
        for row, link in enumerate(self.links):
            joint = above.get(link)
            if joint is None:
                out[:, row] = bases[row]
                continue
            value = _value(joint, by_name, columns, len(values))
            out[:, row] = out[:, rows[joint.parent]] @ joint.origin.matrix @ _motion(joint, value)
        return out

    def moved(self, pose: Pose) -> Robot:
        """The robot on a base that is moved, with all that stands still."""
        roots = {joint.child for joint in self.all_joints}
        bases = [base if link in roots else pose @ base for link, base in zip(self.links, self.bases)]
        parts = [part if link >= 0 else pose @ part for link, part in zip(self.part_links, self.part_poses)]
        return replace(self, bases=_stack(bases), part_poses=_stack(parts))

    @staticmethod
    def joined(first: Robot | None, first_poses: Pose, second: Robot | None, second_poses: Pose) -> Robot | None:
        """One robot for the parts of two scenes, of which each may have one. Names that both have get "#2"."""
        if first is None and second is None:
            return None
        one = first or _still(first_poses)
        two = second or _still(second_poses)
        links, joints = _renamed(one, two)
        part_links = np.where(two.part_links >= 0, two.part_links + len(one.links), -1)
        return Robot(
            first.name if first is not None else two.name,
            one.links + links,
            one.all_joints + joints,
            np.concatenate([one.part_links, part_links]),
            _stack([*one.part_poses, *two.part_poses]),
            _stack([*one.bases, *two.bases]),
        )


def _still(poses: Pose) -> Robot:
    """No links at all, only parts that stand still."""
    return Robot("", (), (), np.full(len(poses), -1, dtype=np.int64), poses, _stack([]))


def _stack(poses: list[Pose]) -> Pose:
    rows = [as_poses(pose, "pose") for pose in poses]
    return Pose.from_rows(np.concatenate(rows) if rows else np.empty((0, 12)))


def _renamed(one: Robot, two: Robot) -> tuple[tuple[str, ...], tuple[Joint, ...]]:
    """Links and joints of the second robot with names that the first one does not have."""
    link_names, joint_names = UniqueNames(one.links), UniqueNames(joint.name for joint in one.all_joints)
    links = {link: link_names.take(link) for link in two.links}
    names = {joint.name: joint_names.take(joint.name) for joint in two.all_joints}
    joints = tuple(
        replace(
            joint,
            name=names[joint.name],
            parent=links[joint.parent],
            child=links[joint.child],
            mimic=names[joint.mimic] if joint.mimic else "",
        )
        for joint in two.all_joints
    )
    return tuple(links.values()), joints


def _value(joint: Joint, by_name: dict[str, Joint], columns: dict[str, Floats], count: int) -> Floats:
    """(C,) the joint's value; that of the joint which it follows, scaled and moved, if it follows one."""
    factor, offset = 1.0, 0.0
    # Chains of followers have no cycle: the reader refuses such a robot.
    while joint.mimic:
        factor, offset = factor * joint.mimic_factor, offset + factor * joint.mimic_offset
        joint = by_name[joint.mimic]
    return factor * columns[joint.name] + offset if joint.name in columns else np.full(count, offset)


def _motion(joint: Joint, value: Floats) -> Floats:
    """(C, 4, 4) the joint's own motion."""
    out = np.zeros((len(value), 4, 4))
    out[:] = np.eye(4)
    axis = np.asarray(joint.axis, dtype=np.float64)
    if joint.kind == "prismatic":
        out[:, :3, 3] = value[:, None] * axis
    elif joint.kind in ("revolute", "continuous"):
        # Rodrigues: 1 + sin(a) K + (1 - cos(a)) K^2.
        x, y, z = axis
        k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        out[:, :3, :3] += np.sin(value)[:, None, None] * k + (1.0 - np.cos(value))[:, None, None] * (k @ k)
    return out
