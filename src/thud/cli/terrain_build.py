"""`thud terrain build`: elevation models, arrays, meshes or a generated world into a store of tiles."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from thud.cli.terrain import app, errors


class Kind(StrEnum):
    """Kinds of tiles."""

    heights = "heights"
    displaced = "displaced"
    triangles = "triangles"


#: Files that are arrays of heights, and meshes; the rest are rasters.
_ARRAYS = (".npy",)
_MESHES = (".obj", ".ply", ".stl", ".glb", ".off")


@app.command("build")
def build(
    out: Annotated[Path, typer.Option(help="The folder of the terrain. One that is there is gone on with.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="GeoTIFF and other rasters of one grid, a .npy of heights, or a mesh.")
    ] = None,
    generated: Annotated[int | None, typer.Option(help="Instead of files: a generated world of this seed.", min=0)] = None,
    size: Annotated[float | None, typer.Option(help="Of the generated world, metres along x and y.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Of the tiles; default: what suits the source.")] = None,
    tile: Annotated[float | None, typer.Option(help="Samples along a side of a tile (256); for a mesh metres.")] = None,
    spacing: Annotated[float | None, typer.Option(help="Metres between samples; of projected rasters, arrays, worlds.")] = None,
    error: Annotated[float | None, typer.Option(help="Largest error of triangles made of heights, metres.")] = None,
    crs: Annotated[str | None, typer.Option(help="Coordinate system of files that state none, such as EPSG:4326.")] = None,
    project: Annotated[str | None, typer.Option(help="Coordinate system in metres to project to; default: UTM.")] = None,
    vertical_unit: Annotated[str | None, typer.Option(help="Of the heights, if the files do not say: m, ft, us-ft.")] = None,
    thickness: Annotated[float | None, typer.Option(help="How deep the ground is below its surface, metres.")] = None,
    workers: Annotated[int, typer.Option(help="Processes that make tiles.", min=1, max=1024)] = 1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler: its workers make tiles.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="File of the certificate authority, for tls:// clusters.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="File of the client's certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="File of the client's key.")] = None,
) -> None:
    """Fill a terrain. A build that ended, however, goes on where it was when the same command is given again."""
    with errors("build"):
        from thud.errors import InvalidInputError

        runner = None
        if cluster is not None:
            from thud.cluster import Cluster

            runner = Cluster(cluster, ca=tls_ca, certificate=tls_cert, key=tls_key)
        options: dict[str, Any] = {"kind": kind.value if kind else None, "tile": tile, "thickness": thickness, "error": error}
        options |= {"workers": workers, "runner": runner}
        if (generated is None) == (not files):
            raise InvalidInputError("files: expected files, or --generated SEED with --size")
        if generated is not None:
            from thud.terrain import generated_world

            if size is None:
                raise InvalidInputError("size: needed for a generated world: metres along x and y")
            source: Any = generated_world(generated, size, spacing=2.0 if spacing is None else spacing)
        else:
            source, more = _read(files or [], spacing, crs, project, vertical_unit)
            options |= more
        _build(source, out, options)


def _read(files: list[Path], spacing: float | None, crs: str | None, project: str | None, unit: str | None) -> Any:
    """The source that files are, and what the build is told about it."""
    from thud.errors import FileFormatError, InvalidInputError

    suffix = files[0].suffix.lower()
    if suffix not in (*_ARRAYS, *_MESHES):
        from thud.io import read_elevation

        return read_elevation(files, crs=crs, project=project, spacing=spacing, vertical_unit=unit), {}
    for name, value in (("project", project), ("vertical-unit", unit)):
        if value is not None:
            raise InvalidInputError(f"{name}: only of use to rasters")
    if len(files) > 1:
        raise InvalidInputError(f"files: expected one {suffix} file, got {len(files)}")
    if suffix in _ARRAYS:
        import numpy as np

        try:
            heights = np.load(files[0], mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise FileFormatError(f"{files[0]}: no array of numbers ({error})") from None
        return heights, {"spacing": spacing, "crs": crs}
    if spacing is not None:
        raise InvalidInputError("spacing: of no use to a mesh")
    return _mesh(files[0]), {"crs": crs}


def _mesh(path: Path) -> Any:
    from thud import TriangleMesh
    from thud.errors import FileFormatError, MissingExtraError

    try:
        import trimesh
    except ImportError:
        raise MissingExtraError.for_package("trimesh", "app") from None
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        found: Any = trimesh.load(path, force="mesh", process=False)
    except Exception as error:  # whatever a reader of foreign files may throw
        raise FileFormatError(f"{path}: no mesh that can be read ({type(error).__name__}: {error})") from None
    return TriangleMesh(found.vertices, found.faces)


def _build(source: Any, out: Path, options: dict[str, Any]) -> None:
    import resource

    from thud.terrain import build as fill
    from thud.terrain.tiles.terrain import Terrain

    begin = time.perf_counter()
    done = fill(source, out, **options)
    seconds = time.perf_counter() - begin
    with Terrain.open(out, memory=0) as terrain:
        typer.echo(f"{len(terrain):,} tiles of {done.kind}, {terrain.nbytes:,} bytes in {out} ({seconds:.1f} s)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    typer.echo(f"content hash {done.content_hash}; most memory {peak:,.0f} MB")
