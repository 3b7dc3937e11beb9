"""`thud check FILES`: what collides in an assembly, as a table and as files. Exit code 0: nothing new, 1: clashes, 2:
error."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from thud.io.scene.scene import Scene
    from thud.report.clash.clash import ClashReport
    from thud.report.clash.tasks import Progress


class Grouping(StrEnum):
    """How clashes are put together in the table."""

    auto = "auto"
    part = "part"
    type = "type"
    none = "none"


class Touching(StrEnum):
    """What contacts are."""

    list = "list"
    ignore = "ignore"
    clash = "clash"


class Search(StrEnum):
    """How ways out are found."""

    auto = "auto"
    best = "best"
    quick = "quick"


class Geometry(StrEnum):
    """Which of a robot's meshes."""

    collision = "collision"
    visual = "visual"


_FILES, _RULES, _OUT, _WORK = "Files", "Which pairs", "What comes out", "How it works"

#: Kinds that make the exit code 1, unless others are said.
_FAIL = "hard,containment,duplicate,clearance,contact"


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of one assembly: GLB, glTF, OBJ, STL, PLY, 3MF, DAE, STEP, IFC, USD, URDF."),
    ] = None,
    clearance: Annotated[str, typer.Option(help="Parts closer than this are clashes too: 5mm, 0.2in.")] = "0",
    tolerance: Annotated[
        str | None, typer.Option(help="Overlaps and gaps up to this are contacts. Default: a millionth of the size.")
    ] = None,
    demo: Annotated[
        Path | None, typer.Option(help="Write a small assembly with known clashes to this GLB file, and check it.")
    ] = None,
    units: Annotated[
        str | None, typer.Option(help="Unit of the files, if they do not say it: mm, inch.", rich_help_panel=_FILES)
    ] = None,
    up: Annotated[str | None, typer.Option(help="Axis of the files that points up: x, y or z.", rich_help_panel=_FILES)] = None,
    pose: Annotated[
        list[str] | None,
        typer.Option(
            help="Where a file is put: X,Y,Z or X,Y,Z,RX,RY,RZ (degrees), such as 1m,0,-20mm. Once for each file, in "
            "their order, or once for all.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    include_spaces: Annotated[bool, typer.Option(help="IFC: rooms are parts too.", rich_help_panel=_FILES)] = False,
    repair: Annotated[bool, typer.Option(help="Make safe repairs.", rich_help_panel=_FILES)] = True,
    urdf_geometry: Annotated[Geometry, typer.Option(help="URDF: which meshes.", rich_help_panel=_FILES)] = Geometry.collision,
    root: Annotated[
        Path | None,
        typer.Option(
            help="Folder that references must stay in, such as that of a robot's package; default the file's.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    deflection: Annotated[
        float | None,
        typer.Option(
            help="STEP: how far triangles may be from curved surfaces, in the file's unit; default 1 % of each edge.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="Raise a limit of what a file may cost: memory_bytes=2e10, seconds=900.", rich_help_panel=_FILES),
    ] = None,
    a: Annotated[
        list[str] | None, typer.Option("--a", help="Selection A, a pattern of names: 'pipes/*'.", rich_help_panel=_RULES)
    ] = None,
    b: Annotated[list[str] | None, typer.Option("--b", help="Selection B; default everything.", rich_help_panel=_RULES)] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out parts by a pattern, or pairs by two: 'screw*' or 'screw*::plate'.", rich_help_panel=_RULES
        ),
    ] = None,
    ignore_same_parent: Annotated[
        bool, typer.Option("--ignore-same-parent", help="Leave out pairs of one parent.", rich_help_panel=_RULES)
    ] = False,
    adjacent: Annotated[
        bool, typer.Option(help="Robots: check links that a joint connects, too.", rich_help_panel=_RULES)
    ] = False,
    touching: Annotated[
        Touching, typer.Option(help="Contacts: listed apart, ignored, or clashes.", rich_help_panel=_RULES)
    ] = Touching.list,
    configurations: Annotated[
        int, typer.Option(help="Robots: how many configurations to sample.", min=0, max=1_000_000, rich_help_panel=_RULES)
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of the configurations.", min=0, rich_help_panel=_RULES)] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write JSON.", rich_help_panel=_OUT)] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write CSV.", rich_help_panel=_OUT)] = None,
    bcf_file: Annotated[Path | None, typer.Option("--bcf", help="Write BCF 2.1.", rich_help_panel=_OUT)] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write one HTML file with pictures and a 3D view.", rich_help_panel=_OUT)
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Write a PNG picture of the gravest clash.", rich_help_panel=_OUT)
    ] = None,
    pictures: Annotated[
        int, typer.Option(help="Most pictures in HTML and BCF.", min=0, max=100_000, rich_help_panel=_OUT)
    ] = 200,
    html_megabytes: Annotated[
        float, typer.Option(help="Most megabytes of the HTML file.", min=1.0, max=2000.0, rich_help_panel=_OUT)
    ] = 25.0,
    title: Annotated[str | None, typer.Option(help="Title of the HTML file.", rich_help_panel=_OUT)] = None,
    group: Annotated[Grouping, typer.Option(help="How clashes share a line.", rich_help_panel=_OUT)] = Grouping.auto,
    rows: Annotated[int, typer.Option(help="Most lines of a table.", min=0, rich_help_panel=_OUT)] = 50,
    explain: Annotated[bool, typer.Option("--explain", help="A sentence a clash.", rich_help_panel=_OUT)] = False,
    baseline: Annotated[
        Path | None, typer.Option(help="File of what was decided; accepted clashes are not shown.", rich_help_panel=_OUT)
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write what is found to the baseline.", rich_help_panel=_OUT)
    ] = False,
    accept: Annotated[
        list[str] | None, typer.Option(help="Accept the clash of this id, or 'all'.", rich_help_panel=_OUT)
    ] = None,
    assign: Annotated[list[str] | None, typer.Option(help="Who looks after a clash: ID=NAME.", rich_help_panel=_OUT)] = None,
    note: Annotated[str | None, typer.Option(help="Why, for those that are accepted.", rich_help_panel=_OUT)] = None,
    fail_on: Annotated[str, typer.Option(help="Kinds of clashes that make the exit code 1.", rich_help_panel=_OUT)] = _FAIL,
    volumes: Annotated[bool, typer.Option(help="Compute common volumes.", rich_help_panel=_WORK)] = True,
    search: Annotated[
        Search, typer.Option(help="Ways out: in all directions, or quick bounds.", rich_help_panel=_WORK)
    ] = Search.auto,
    threads: Annotated[int | None, typer.Option(help="Default: all cores.", min=1, rich_help_panel=_WORK)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the summary.", rich_help_panel=_WORK)] = False,
) -> None:
    """What collides in this assembly? Exit code 0: nothing, 1: clashes, 2: an error."""
    from thud.errors import ThudError
    from thud.report.clash.text import plain

    try:
        given = dict(locals())
        report = _run(given)
        failing = _kinds(fail_on)
    except (ThudError, OSError, MemoryError) as error:
        typer.echo(f"thud check: {plain(str(error)) or type(error).__name__}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("thud check: interrupted; no file was written in part", err=True)
        raise typer.Exit(130) from None
    except Exception as error:
        # A fault of the program must not look like clashes, which are exit code 1.
        traceback.print_exc()
        typer.echo(f"thud check: {type(error).__name__}; please report this", err=True)
        raise typer.Exit(2) from None
    raise typer.Exit(1 if any(clash.kind in failing for clash in report.clashes) else 0)


def _run(given: dict[str, Any]) -> ClashReport:
    """The work of the command."""
    from rich.console import Console

    from thud.cli.lengths import metres
    from thud.errors import InvalidInputError
    from thud.report.clash.baseline import load_or_empty
    from thud.report.clash.check import check as run_check
    from thud.report.clash.table import print_report

    _kinds(given["fail_on"])
    changes = bool(given["update_baseline"] or given["accept"] or given["assign"])
    if changes and given["baseline"] is None:
        raise InvalidInputError("--update-baseline, --accept and --assign need --baseline FILE")
    clearance = metres(given["clearance"], "--clearance")
    tolerance = None if given["tolerance"] is None else metres(given["tolerance"], "--tolerance")
    rules = _rules(given)
    before = load_or_empty(given["baseline"], missing_ok=changes) if given["baseline"] is not None else None
    _check_outputs(given)
    # In a file or a pipe there is no width to keep to.
    console = Console() if sys.stdout.isatty() else Console(width=132)
    with _progress(given["quiet"]) as progress:
        scene = _scene(given, progress)
        report = run_check(
            scene,
            clearance=clearance,
            tolerance=tolerance,
            rules=rules,
            volumes=given["volumes"],
            search=given["search"].value,
            configurations=given["configurations"] if scene.robot is not None else 0,
            seed=given["seed"],
            threads=given["threads"],
            progress=progress,
        )
        if before is not None:
            report = before.apply(report)
            if changes:
                after = _decided(before, report, given)
                after.save(given["baseline"])
                report = after.apply(report.with_clashes([*report.clashes, *report.known], known=(), gone={}))
        written = _write(report, given, progress)
    if given["quiet"]:
        typer.echo(report.summary())
    else:
        print_report(report, console, group=given["group"].value, rows=given["rows"], explain=given["explain"])
    for path in written:
        typer.echo(f"wrote {path}", err=True)
    return report


def _scene(given: dict[str, Any], progress: Progress | None) -> Scene:
    """From the files, or the one that was made."""
    import numpy as np

    from thud.cli.lengths import place
    from thud.errors import InvalidInputError
    from thud.io.scene.limits import SceneLimits
    from thud.io.scene.load import load_scene
    from thud.report.clash.assembly import is_assembly, write_assembly

    files = list(given["files"] or [])
    if given["demo"] is not None:
        if given["demo"].exists() and not is_assembly(given["demo"]):
            raise InvalidInputError(f"--demo: {given['demo']} is there and is another file; it would be overwritten")
        write_assembly(given["demo"])
        files.append(given["demo"])
    if not files:
        raise InvalidInputError("expected files to check, or --demo FILE.glb for a small assembly with known clashes")
    poses = [place(text, "--pose") for text in given["pose"] or ()]
    if len(poses) > 1 and len(poses) != len(files):
        raise InvalidInputError(f"--pose: expected one for each of {len(files)} files, or one for all, got {len(poses)}")
    raised: dict[str, Any] = {}
    for text in given["limit"] or ():
        name, _, value = text.partition("=")
        if name not in SceneLimits.__dataclass_fields__:
            raise InvalidInputError(f"--limit: expected one of {', '.join(SceneLimits.__dataclass_fields__)}, got {name!r}")
        try:
            raised[name] = float(value) if name in ("seconds", "archive_ratio") else int(float(value))
        except (ValueError, OverflowError):
            raise InvalidInputError(f"--limit: expected {name}=NUMBER, got {text!r}") from None
    if progress is not None:
        progress("reading", 0, 1)
    scene = load_scene(
        files,
        units=given["units"],
        up=given["up"],
        poses=np.concatenate([pose.matrix.reshape(1, 4, 4) for pose in poses]) if poses else None,
        include_spaces=given["include_spaces"],
        repair=given["repair"],
        urdf_geometry=given["urdf_geometry"].value,
        root=given["root"],
        deflection=given["deflection"],
        limits=SceneLimits(**raised),
    )
    if progress is not None:
        progress("reading", 1, 1)
    return scene


def _rules(given: dict[str, Any]) -> Any:
    from thud.report.clash.rules import Rules

    single = [text for text in given["ignore"] or () if "::" not in text]
    pairs = [text.split("::", 1) for text in given["ignore"] or () if "::" in text]
    return Rules(
        a=given["a"] or (),
        b=given["b"] or (),
        ignore=single,
        ignore_pairs=[(one, other) for one, other in pairs],
        same_parent=given["ignore_same_parent"],
        adjacent=not given["adjacent"],
        touching=given["touching"].value,
    )


def _decided(before: Any, report: ClashReport, given: dict[str, Any]) -> Any:
    """The baseline with what the command line decides."""
    from thud.errors import InvalidInputError

    owners = {}
    for text in given["assign"] or ():
        identity, equals, who = text.partition("=")
        if not equals:
            raise InvalidInputError(f"--assign: expected ID=NAME, got {text!r}")
        owners[identity] = who
    accept = given["accept"] or []
    return before.updated(
        report,
        accept=[identity for identity in accept if identity != "all"],
        accept_all="all" in accept,
        assign=owners,
        note=given["note"],
    )


_OUTPUTS = ("json_file", "csv_file", "bcf_file", "html_file", "picture", "baseline", "demo")


def _check_outputs(given: dict[str, Any]) -> None:
    """Before minutes of work: folders must be there, and no output may be an input."""
    from thud.errors import InvalidInputError

    inputs = {path.resolve() for path in given["files"] or ()}
    outputs: dict[Path, str] = {}
    for name in _OUTPUTS:
        path = given[name]
        if path is None:
            continue
        if path.resolve() in inputs:
            raise InvalidInputError(f"{path}: is one of the files to check; it would be overwritten")
        if path.resolve() in outputs:
            raise InvalidInputError(f"{path}: is to be written twice, as {outputs[path.resolve()]} and as {_option(name)}")
        outputs[path.resolve()] = _option(name)
        if path.is_dir():
            raise InvalidInputError(f"{path}: is a folder; expected the name of a file for {_option(name)}")
        if not path.resolve().parent.is_dir():
            raise InvalidInputError(f"{path}: no such folder: {path.resolve().parent}")


def _option(name: str) -> str:
    return f"--{name.removesuffix('_file')}"


def _write(report: ClashReport, given: dict[str, Any], progress: Progress | None) -> list[Path]:
    """All files that were asked for."""
    from thud.report.clash.bcf import write_bcf
    from thud.report.clash.csv_file import write_csv
    from thud.report.clash.json_file import write_json
    from thud.report.clash.page.page import write_page
    from thud.report.clash.picture import picture
    from thud.report.clash.pictures import clash_pictures

    written: list[Path] = []
    images: dict[str, bytes] = {}
    if given["html_file"] is not None or given["bcf_file"] is not None:
        images = clash_pictures(report, most=given["pictures"], threads=given["threads"], progress=progress)
    if given["json_file"] is not None:
        write_json(report, given["json_file"])
        written.append(given["json_file"])
    if given["csv_file"] is not None:
        write_csv(report, given["csv_file"])
        written.append(given["csv_file"])
    if given["bcf_file"] is not None:
        write_bcf(report, given["bcf_file"], images)
        written.append(given["bcf_file"])
    if given["html_file"] is not None:
        names = ", ".join(path.name for path in given["files"] or [given["demo"]])
        title = given["title"] or f"Clash check of {names}"[:200]
        write_page(
            report, given["html_file"], images, title=title, group=given["group"].value,
            most_bytes=int(given["html_megabytes"] * 1e6),
        )  # fmt: skip
        written.append(given["html_file"])
    if given["picture"] is not None:
        picture(report, report.clashes[0] if report.clashes else None, file=given["picture"])
        written.append(given["picture"])
    return written


def _kinds(text: str) -> set[str]:
    from thud.errors import InvalidInputError
    from thud.report.clash.clash import KINDS

    kinds = {kind.strip() for kind in text.split(",") if kind.strip()}
    for kind in kinds - set(KINDS):
        raise InvalidInputError(f"--fail-on: expected some of {', '.join(KINDS)}, got {kind!r}")
    return kinds


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """Bars on the error stream, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=max(total, 1))
            bars.update(tasks[label], completed=done if total else 1, total=max(total, 1))

        yield report
