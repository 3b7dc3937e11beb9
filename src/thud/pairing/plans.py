"""How the pair table answers a query: the way and the function, looked up once for each query and families."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from thud.errors import UnsupportedQueryError
from thud.pairing.families import COMPOUND, FAMILIES, NAMES
from thud.pairing.join import LEAF_JOINS, PAIR_JOINS
from thud.pairing.pair_cache import PairCache
from thud.pairing.table import PAIRS, REASONS, SHAPE_REASONS, SHAPES, Entry
from thud.shapes.shape import Shape

EXACT, SWAPPED, APART, UNSUPPORTED = "exact", "swapped", "taken apart", "unsupported"


class Plan(NamedTuple):
    """A way; the entry of the first two, the reason of the last."""

    way: str
    entry: Entry | None = None
    reason: str = ""


@cache
def resolve(text: str) -> Any:
    """The function of an entry's text."""
    module, name = text.split(":")
    return attrgetter(name)(importlib.import_module(module))


@cache
def pair_plan(query: str, family_a: str, family_b: str) -> Plan:
    """Of a pair of families."""
    exact, swapped = PAIRS.get((family_a, family_b), {}), PAIRS.get((family_b, family_a), {})
    if query in exact:
        return Plan(EXACT, exact[query])
    if query in swapped:
        return Plan(SWAPPED, swapped[query])
    if query in PAIR_JOINS and (family_a in COMPOUND or family_b in COMPOUND):
        return Plan(APART)
    reason = REASONS.get((family_a, family_b)) or REASONS.get((family_b, family_a)) or REASONS.get(query)
    return Plan(UNSUPPORTED, reason=reason or f"a {NAMES[family_a]} and a {NAMES[family_b]} have no such query")


@cache
def shape_plan(query: str, family: str) -> Plan:
    """Of a family by itself."""
    if query in SHAPES[family]:
        return Plan(EXACT, SHAPES[family][query])
    if query in LEAF_JOINS and family in COMPOUND:
        return Plan(APART)
    return Plan(UNSUPPORTED, reason=SHAPE_REASONS.get((query, family), f"a {NAMES[family]} has no such query"))


def refuse(query: str, plan: Plan) -> UnsupportedQueryError:
    """The error of an unsupported query."""
    return UnsupportedQueryError(f"{query.replace('signed_', '').replace('turning_', '')}: {plan.reason}")


# Options -----------------------------------------------------------------------------------------------------------------


def families_in(shape: Shape) -> tuple[str, ...]:
    """Families of the leaves of a shape, each once."""
    if shape.family not in COMPOUND:
        return (shape.family,)
    inner = {family for part in shape.shapes for family in families_in(part)}  # type: ignore[attr-defined]
    return tuple(sorted(inner))


def pair_entries(query: str, a: Shape, b: Shape) -> list[Entry]:
    """The entries that answer a pair: one, or those of all pairs of leaves' families. Each leaf finds its own share of a cache
    and its own former pose; no method and no axes are meant for leaves that the caller does not see."""
    plan = pair_plan(query, a.family, b.family)
    if plan.way == APART:
        plans = [pair_plan(query, x, y) for x in families_in(a) for y in families_in(b)]
        entries = [inner.entry for inner in plans if inner.entry is not None]
        passed = ("cache", "former")
        return [Entry(entry.function, {name: None for name in passed if takes(entry, name)}) for entry in entries]
    return [] if plan.entry is None else [plan.entry]


def shape_entries(query: str, shape: Shape) -> list[Entry]:
    """The entries that answer a shape by itself."""
    plan = shape_plan(query, shape.family)
    if plan.way == APART:
        plans = [shape_plan(query, family) for family in families_in(shape)]
        return [inner.entry for inner in plans if inner.entry is not None]
    return [] if plan.entry is None else [plan.entry]


def takes(entry: Entry, option: str, *value: Any) -> bool:
    """Whether an entry can use an option; with a value, whether with this one."""
    if option not in entry.options:
        return False
    allowed = entry.options[option]
    return allowed is None or all(one in allowed for one in value)


def check_option(query: str, option: str, value: Any, entries: list[Entry], who: str) -> None:
    """Named error unless one of the entries can use the option."""
    if any(takes(entry, option, value) for entry in entries):
        return
    public = query.replace("signed_", "")
    shown = option if isinstance(value, (np.ndarray, PairCache)) else f"{option} {value!r}"
    known = sorted({text for entry in all_entries(query) for text in entry.options.get(option) or ()})
    if known and value not in known:
        raise UnsupportedQueryError(f"{public}: {shown} does not exist; expected one of {', '.join(known)}")
    users = [name for name, entry in _named_entries(query).items() if takes(entry, option, value)]
    raise UnsupportedQueryError(f"{public}: {shown} is of no use to {who}; it is for {'; '.join(users) or 'no shape'}")


def all_entries(query: str) -> list[Entry]:
    """Of all families."""
    return list(_named_entries(query).values())


@cache
def _named_entries(query: str) -> Mapping[str, Entry]:
    """All entries of a query, by their families in words."""
    if any(query in entries for entries in SHAPES.values()):
        return {NAMES[family]: SHAPES[family][query] for family in FAMILIES if query in SHAPES[family]}
    return {f"{NAMES[a]} and {NAMES[b]}": entries[query] for (a, b), entries in PAIRS.items() if query in entries}
