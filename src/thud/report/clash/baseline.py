"""A baseline: what was decided about clashes, so that only new ones are shown."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thud._core.atomic import replaced
from thud.errors import FileFormatError, InvalidInputError
from thud.report.clash.clash import KINDS, Clash, ClashReport
from thud.report.clash.tolerances import DEEPER

#: What says that a file is a baseline, and of which version.
FORMAT, VERSION = "thud-baseline", 1

#: Bytes that are read, entries, and characters of one text (counts).
MOST_BYTES, MOST_ENTRIES, MOST_TEXT = 256 * 2**20, 1_000_000, 10_000

_ID = re.compile(r"[0-9a-f]{6,64}")
_STATUSES = ("open", "accepted", "resolved")


@dataclass(frozen=True)
class Entry:
    """What was decided about one clash, and what it was like then.

    Attributes
    ----------
    status : "open" is shown; "accepted" is not, unless it has become worse; "resolved" is shown if it comes back
    assignee, note : free text
    kind, depth, gap : as it was; metres
    name_a, name_b : full names of the parts
    """

    status: str
    assignee: str
    note: str
    kind: str
    depth: float
    gap: float
    name_a: str
    name_b: str


class Baseline:
    """Decisions by the ids of clashes."""

    def __init__(self, entries: dict[str, Entry] | None = None) -> None:
        self.entries: dict[str, Entry] = dict(entries or {})

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Baseline:
        """Read a file; one that is no baseline is a `FileFormatError` that says where."""
        file = Path(path)
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise FileFormatError(f"{file}: {size} bytes; a baseline has at most {MOST_BYTES}")
        try:
            data = json.loads(file.read_bytes().decode("utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError) as error:
            raise FileFormatError(f"{file}: no baseline, since it is no JSON ({error})") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FileFormatError(f'{file}: no baseline; expected "format": "{FORMAT}"')
        if data.get("version") != VERSION:
            raise FileFormatError(f"{file}: a baseline of version {data.get('version')!r}; this thud reads version {VERSION}")
        clashes = data.get("clashes")
        if not isinstance(clashes, dict) or len(clashes) > MOST_ENTRIES:
            raise FileFormatError(f'{file}: "clashes": expected an object of at most {MOST_ENTRIES} entries')
        return cls({key: _entry(file, key, value) for key, value in clashes.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Whole or not at all."""
        clashes = {key: _row(self.entries[key]) for key in sorted(self.entries)}
        data = {"format": FORMAT, "version": VERSION, "clashes": clashes}
        with replaced(path) as file:
            file.write((json.dumps(data, indent=1, ensure_ascii=True) + "\n").encode("ascii"))

    def apply(self, report: ClashReport) -> ClashReport:
        """The report with what is accepted apart, and statuses and assignees filled in."""
        shown: list[Clash] = []
        known: list[Clash] = []
        here = {clash.id for clash in (*report.clashes, *report.contacts)}
        for clash in report.clashes:
            entry = self.entries.get(clash.id)
            if entry is None:
                shown.append(replace(clash, status="new"))
                continue
            worse = is_worse(clash, entry, report.tolerance)
            marked = replace(clash, status=entry.status, assignee=entry.assignee, note=entry.note, worse=worse)
            (known if entry.status == "accepted" and not worse else shown).append(marked)
        missing = [key for key, entry in self.entries.items() if key not in here and _asked(report, entry)]
        names = [(self.entries[key].name_a, self.entries[key].name_b) for key in missing]
        gone = {key: pair for key, pair, looked in zip(missing, names, report.looks_at(names)) if looked}
        return report.with_clashes(shown, known=tuple(known), gone=gone)

    def updated(
        self,
        report: ClashReport,
        *,
        accept: Iterable[str] = (),
        accept_all: bool = False,
        assign: dict[str, str] | None = None,
        note: str | None = None,
    ) -> Baseline:
        """With all clashes of the report: those that are known keep status and assignee, new ones are open, and what is gone is
        resolved. What this check did not look at stays as it is.

        accept : ids, or beginnings of them, to be accepted from now on
        accept_all : accept every clash of the report
        assign : ids to assignees
        note : for those that are accepted
        """
        entries = dict(self.entries)
        every = {clash.id: clash for clash in (*report.clashes, *report.known)}
        wanted = set(every) if accept_all else {report.clash(identity).id for identity in accept}
        owners = {report.clash(identity).id: who for identity, who in (assign or {}).items()}
        for identity in (*wanted, *owners):
            if identity not in every:
                raise InvalidInputError(f'accept, assign: {identity} is a contact; with touching="clash" contacts are clashes')
        for key, clash in every.items():
            before = self.entries.get(key)
            status = before.status if before is not None else "open"
            if status == "resolved" or (status == "accepted" and clash.worse):
                status = "open"
            said = (before.note if before is not None else "") or ""
            if key in wanted:
                status, said = "accepted", said if note is None else note
            # What was accepted stays as it was then: a clash must not get deeper little by little.
            keep = before is not None and before.status == status == "accepted" and key not in wanted
            like = before if keep and before is not None else clash
            assignee = owners.get(key, before.assignee if before is not None else "")
            entries[key] = Entry(status, assignee, said, like.kind, like.depth, like.gap, clash.name_a, clash.name_b)
        for key in report.gone:
            entries[key] = replace(entries[key], status="resolved")
        return Baseline(entries)


def _asked(report: ClashReport, entry: Entry) -> bool:
    """Whether a check with this clearance, and with contacts listed or not, would have found the clash if it were there and
    is not known to be gone already."""
    if entry.status == "resolved" or (entry.kind == "clearance" and not entry.gap < report.clearance):
        return False
    return entry.kind != "contact" or report.rules is None or report.rules.touching != "ignore"


def is_worse(clash: Clash, entry: Entry, tolerance: float) -> bool:
    """Whether a clash is of a graver kind than it was, or deeper, or closer, by more than another triangulation brings
    about."""
    if KINDS.index(clash.kind) < KINDS.index(entry.kind):
        return True
    if clash.kind != entry.kind:
        return False
    if clash.kind == "clearance":
        return clash.gap < entry.gap * (1.0 - DEEPER) - tolerance
    if clash.kind == "duplicate" or math.isnan(entry.depth):
        return False
    # A depth that is only a bound may well become larger.
    return not math.isnan(clash.depth) and clash.depth > entry.depth * (1.0 + DEEPER) + tolerance


def _row(entry: Entry) -> dict[str, Any]:
    row = dict(vars(entry))
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}


def _entry(file: Path, key: str, value: Any) -> Entry:
    """One entry, checked."""
    where = f"{file}: clash {key[:80]!r}"
    if not _ID.fullmatch(key):
        raise FileFormatError(f"{where}: expected an id of 6 to 64 hexadecimal digits")
    if not isinstance(value, dict):
        raise FileFormatError(f"{where}: expected an object, got {type(value).__name__}")
    texts = {}
    for name in ("status", "assignee", "note", "kind", "name_a", "name_b"):
        text = value.get(name, "")
        if not isinstance(text, str) or len(text) > MOST_TEXT:
            raise FileFormatError(f'{where}: "{name}": expected a text of at most {MOST_TEXT} characters')
        texts[name] = text
    if texts["status"] not in _STATUSES:
        raise FileFormatError(f'{where}: "status": expected one of {", ".join(_STATUSES)}, got {texts["status"][:80]!r}')
    if texts["kind"] not in KINDS:
        raise FileFormatError(f'{where}: "kind": expected one of {", ".join(KINDS)}, got {texts["kind"][:80]!r}')
    numbers = {}
    for name in ("depth", "gap"):
        number = value.get(name)
        if number is None:
            number = math.nan
        elif isinstance(number, bool) or not isinstance(number, (int, float)) or not 0.0 <= number < 1e300:
            raise FileFormatError(f'{where}: "{name}": expected metres of at least 0 or null, got {str(number)[:80]}')
        numbers[name] = float(number)
    return Entry(
        texts["status"], texts["assignee"], texts["note"], texts["kind"], numbers["depth"], numbers["gap"], texts["name_a"],
        texts["name_b"],
    )  # fmt: skip


def load_or_empty(path: str | os.PathLike[str], *, missing_ok: bool) -> Baseline:
    """The baseline of a file; an empty one where there is none yet and it is about to be written."""
    if missing_ok and not Path(path).exists():
        return Baseline()
    if not Path(path).is_file():
        raise InvalidInputError(f"baseline: no file {path}; --update-baseline makes one")
    return Baseline.load(path)
