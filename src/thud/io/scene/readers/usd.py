"""USD by usd-core: prims, instances and point instancers; layers inside the folder only."""

from __future__ import annotations

import math
import os
import zipfile
from typing import Any

import numpy as np

from thud.errors import SceneFileError, SceneLimitError, SceneReferenceError
from thud.io.scene.readers import primitives, zip_guard
from thud.io.scene.readers.polygons import triangulated
from thud.io.scene.readers.raw import RawScene
from thud.io.scene.readers.references import References

#: Turns z to the axis of a shape.
_AXES = {"Z": np.eye(3), "X": np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), "Y": np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])}


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a stage with its unit (centimetres by default) and up axis."""
    from pxr import Sdf, Tf, Usd, UsdGeom

    if path.lower().endswith(".usdz"):
        with zip_guard.opened(path, raw.limits, "USDZ") as archive:
            packed = [entry.filename for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
        if packed:
            raise SceneFileError(f"USDZ: the member {packed[0][:100]!r} is compressed; the format stores members as they are")
    _check_layers(path, raw, root, Sdf, Tf)
    stage = Usd.Stage.Open(path)
    if stage is None:
        raise SceneFileError("USD: no stage can be opened from it")
    raw.up = str(UsdGeom.GetStageUpAxis(stage)).lower()[:1]
    raw.metres = float(UsdGeom.GetStageMetersPerUnit(stage))
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        raw.note("assumed", "the stage states no unit: centimetres, as USD has it")
    _Stage(stage, raw).walk()


def _check_layers(path: str, raw: RawScene, root: str, sdf: Any, tf: Any) -> None:
    """Follow all that layers name, before a stage composes them."""
    references = References(path, root, raw.limits)
    first = os.path.realpath(path)
    todo, seen = [first], {first}
    while todo:
        at = todo.pop()
        try:
            layer = sdf.Layer.FindOrOpen(at)
        except tf.ErrorException as error:
            said = "; ".join(str(getattr(one, "commentary", one)).strip() for one in error.args)
            raise SceneFileError(f"USD: {os.path.basename(at)}: {said[:300]}") from None
        if layer is None:
            raise SceneFileError(f"USD: {os.path.basename(at)}: not a layer that can be read")
        _check_depth(layer, raw)
        for name in layer.GetCompositionAssetDependencies():
            inner = str(name)
            if not inner:
                # Another prim of the same layer.
                continue
            where = f"USD: {os.path.basename(at)}"
            if layer.realPath.lower().endswith(".usdz") or "[" in at:
                # Within an archive, names mean its members.
                full = layer.ComputeAbsolutePath(inner)
                if not full.startswith(first + "["):
                    raise SceneReferenceError(f"{where}: refers to {inner[:100]!r}, outside the archive")
            else:
                full = references.inside(inner, where, base=os.path.dirname(at))
            if full not in seen:
                seen.add(full)
                todo.append(full)


def _check_depth(layer: Any, raw: RawScene) -> None:
    """Levels and numbers of prims of one layer, without recursion."""
    stack, count = [(prim, 1) for prim in layer.rootPrims], 0
    while stack:
        prim, depth = stack.pop()
        count += 1
        if depth > raw.limits.depth:
            raise SceneLimitError(f"USD: {str(prim.path)[:80]}...: deeper than limits.depth = {raw.limits.depth}")
        if count > 4 * raw.limits.parts:
            raise SceneLimitError(f"USD: more than 4 x limits.parts = {4 * raw.limits.parts} prims")
        if prim.HasInfo("clips"):
            raise SceneFileError(f"USD: {str(prim.path)[:80]}: value clips are not read")
        stack += [(child, depth + 1) for child in prim.nameChildren]
        stack += [(variant.primSpec, depth + 1) for group in prim.variantSets for variant in group.variantList]


class _Stage:
    """Walks a stage; geometry of instances is made once."""

    def __init__(self, stage: Any, raw: RawScene) -> None:
        from pxr import Usd, UsdGeom

        self.stage, self.raw, self.usd, self.geom = stage, raw, Usd, UsdGeom
        self.time = Usd.TimeCode(stage.GetStartTimeCode()) if stage.HasAuthoredTimeCodeRange() else Usd.TimeCode.Default()
        self.cache = UsdGeom.XformCache(self.time)
        self._meshes: dict[str, int] = {}
        self._hidden = 0
        self._round = False

    def walk(self) -> None:
        """All prims that are shown, from the root down."""
        if self.stage.HasAuthoredTimeCodeRange():
            self.raw.note("assumed", f"the stage has a time range: taken at its start, {self.time.GetValue():g}")
        roots = self.stage.GetPseudoRoot().GetFilteredChildren(self._predicate())
        self._below(roots, -1, None)
        if self._hidden:
            self.raw.note("skipped", f"{self._hidden} prims that are invisible or only guides are not read")
        if self._round:
            self.raw.note("assumed", f"round shapes are triangles with {primitives.SIDES} sides")

    def _predicate(self) -> Any:
        return self.usd.TraverseInstanceProxies(self.usd.PrimDefaultPredicate)

    def _below(self, prims: Any, parent: int, base: Any) -> None:
        """base : (world matrix to put in front, the frame it is relative to) for prototypes of an instancer, or None."""
        stack = [(prim, parent) for prim in reversed(list(prims))]
        while stack:
            prim, above = stack.pop()
            if self._is_hidden(prim):
                self._hidden += 1
                continue
            if prim.IsA(self.geom.PointInstancer):
                self._instancer(prim, above, base)
                continue
            mesh = self._mesh(prim)
            name = prim.GetDisplayName() or prim.GetName()
            row = self.raw.add_node(name, above, mesh, self._world(prim, base) if mesh >= 0 else None)
            stack += [(child, row) for child in reversed(list(prim.GetFilteredChildren(self._predicate())))]

    def _is_hidden(self, prim: Any) -> bool:
        shown = self.geom.Imageable(prim)
        if not shown:
            return False
        if shown.GetVisibilityAttr().Get(self.time) == self.geom.Tokens.invisible:
            return True
        purpose = shown.GetPurposeAttr().Get()
        return purpose in (self.geom.Tokens.guide, self.geom.Tokens.proxy)

    def _world(self, prim: Any, base: Any) -> np.ndarray:
        # USD has row vectors.
        matrix = np.array(self.cache.GetLocalToWorldTransform(prim), dtype=np.float64).T
        return matrix if base is None else base @ matrix

    def _mesh(self, prim: Any) -> int:
        """The row of a prim's mesh; -1 if it has none."""
        source = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
        key = str(source.GetPath())
        if key not in self._meshes:
            made = self._triangles(prim)
            self._meshes[key] = -1 if made is None else self.raw.add_mesh(*made, key)
        return self._meshes[key]

    def _triangles(self, prim: Any) -> tuple[np.ndarray, np.ndarray] | None:
        geom, time = self.geom, self.time
        if prim.IsA(geom.Mesh):
            return self._polygons(prim)
        where = str(prim.GetPath())
        if prim.IsA(geom.Cube):
            size = self._size(geom.Cube(prim).GetSizeAttr().Get(time), where)
            return primitives.box((size, size, size))
        for kind, maker in (
            (geom.Cylinder, primitives.cylinder),
            (geom.Cone, primitives.cone),
            (geom.Capsule, primitives.capsule),
        ):
            if prim.IsA(kind):
                self._round = True
                shape = kind(prim)
                radius = self._size(shape.GetRadiusAttr().Get(time), where)
                height = self._size(shape.GetHeightAttr().Get(time), where)
                vertices, faces = maker(radius, height)
                return vertices @ _AXES[str(shape.GetAxisAttr().Get(time))].T, faces
        if prim.IsA(geom.Sphere):
            self._round = True
            return primitives.sphere(self._size(geom.Sphere(prim).GetRadiusAttr().Get(time), where))
        if prim.IsA(geom.Gprim):
            self.raw.note("skipped", f"{where}: a {prim.GetTypeName()} is not read")
        return None

    def _size(self, value: Any, where: str) -> float:
        if value is None or not 0.0 < float(value) < math.inf:
            raise SceneFileError(f"USD: {where}: a size of {value!r}; expected a positive number")
        return float(value)

    def _polygons(self, prim: Any) -> tuple[np.ndarray, np.ndarray] | None:
        mesh, where = self.geom.Mesh(prim), str(prim.GetPath())
        points = mesh.GetPointsAttr().Get(self.time)
        counts = mesh.GetFaceVertexCountsAttr().Get(self.time)
        corners = mesh.GetFaceVertexIndicesAttr().Get(self.time)
        if not points or not counts or not corners:
            self.raw.note("skipped", f"{where}: a mesh without points or faces")
            return None
        p, n, c = np.array(points, dtype=np.float64), np.array(counts, dtype=np.int64), np.array(corners, dtype=np.int64)
        if n.min() < 0 or n.sum() != len(c):
            raise SceneFileError(f"USD: {where}: its faces count {int(n.sum())} corners; there are {len(c)}")
        if c.min() < 0 or c.max() >= len(p):
            raise SceneFileError(f"USD: {where}: a corner names point {int(c.max())}; there are {len(p)}")
        if len(c) > 3 * self.raw.limits.triangles:
            raise SceneLimitError(f"USD: {where}: more than limits.triangles = {self.raw.limits.triangles}")
        holes = mesh.GetHoleIndicesAttr().Get(self.time)
        if holes:
            keep = np.ones(len(n), dtype=bool)
            keep[[h for h in holes if 0 <= h < len(n)]] = False
            c, n = c[np.repeat(keep, n)], n[keep]
        if mesh.GetSubdivisionSchemeAttr().HasAuthoredValue() and mesh.GetSubdivisionSchemeAttr().Get() != "none":
            self.raw.note("assumed", f"{where}: the cage of a subdivision surface is taken as it is")
        faces = triangulated(p, n, c)
        if mesh.GetOrientationAttr().Get(self.time) == self.geom.Tokens.leftHanded:
            faces = faces[:, ::-1]
        return p, faces

    def _instancer(self, prim: Any, above: int, base: Any) -> None:
        """A point instancer: its prototypes' prims once for each instance."""
        from pxr import UsdGeom

        instancer = UsdGeom.PointInstancer(prim)
        rows = instancer.GetProtoIndicesAttr().Get(self.time)
        targets = instancer.GetPrototypesRel().GetForwardedTargets()
        where = str(prim.GetPath())
        if not rows or not targets:
            return
        if len(rows) > self.raw.limits.parts:
            raise SceneLimitError(f"USD: {where}: {len(rows)} instances; more than limits.parts = {self.raw.limits.parts}")
        matrices = instancer.ComputeInstanceTransformsAtTime(
            self.time, self.time, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
        mask = instancer.ComputeMaskAtTime(self.time)
        world = self._world(prim, base)
        level = self.raw.add_node(prim.GetName(), above)
        for k, row in enumerate(rows):
            if mask and not mask[k]:
                continue
            if not 0 <= row < len(targets) or k >= len(matrices):
                raise SceneFileError(f"USD: {where}: instance {k} of prototype {row}; there are {len(targets)}")
            proto = self.stage.GetPrimAtPath(targets[row])
            if not proto:
                raise SceneFileError(f"USD: {where}: its prototype {targets[row]} is not there")
            if prim.GetPath().HasPrefix(proto.GetPath()):
                raise SceneFileError(f"USD: {where}: the instancer is in its own prototype")
            # The instance's matrix holds the prototype's own transform: what is below is relative to the prototype.
            own = np.array(self.cache.GetLocalToWorldTransform(proto), dtype=np.float64).T
            if abs(np.linalg.det(own)) < 1e-300:
                raise SceneFileError(f"USD: {where}: the prototype {targets[row]} is scaled to nothing")
            front = world @ np.array(matrices[k], dtype=np.float64).T @ np.linalg.inv(own)
            node = self.raw.add_node(f"{proto.GetName()} {k + 1}", level, self._mesh(proto), front @ own)
            self._below(proto.GetFilteredChildren(self._predicate()), node, front)
