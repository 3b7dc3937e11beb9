"""The fuzz over all ordered pairs of shape kinds, from the command line and for the tests."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.fuzz.blocks import ROWS, Block, make_block
from tests.fuzz.casts import check_casts
from tests.fuzz.contacts import check_contacts
from tests.fuzz.invariants import UNCONVERGED, Failure, check_invariants, check_oracles, query
from tests.fuzz.points import check_points, check_rays
from tests.fuzz.poses import POSES
from tests.fuzz.shapes import KINDS
from tests.oracles import convex

#: Blocks of 200 poses for each of the 81 ordered pairs: 324,000, 648,000 and 1,004,400 poses.
SIZES = {"ci": 12, "standard": 40, "full": 62}

#: Rows of a block that are compared with the oracles: each kind of pose twice. And rows for contacts, casts and points.
ORACLE_ROWS = 20
OTHER_ROWS = 40

CHECKS = ("distance", "oracles", "contacts", "casts", "points")


@dataclass
class Tally:
    """What a run has seen."""

    poses: int = 0
    compared: int = 0
    unconverged: Counter = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def check_block(block: Block, checks: tuple[str, ...] = CHECKS) -> Iterator[Failure]:
    """Failures of one block."""
    if "distance" in checks:
        yield from check_invariants(block)
    if "oracles" in checks:
        yield from check_oracles(block.rows(slice(0, ORACLE_ROWS)))
    fewer = block.rows(slice(0, OTHER_ROWS))
    signed = query(fewer, signed=True)
    if "contacts" in checks:
        yield from check_contacts(fewer, signed)
    if "casts" in checks:
        yield from check_casts(fewer, signed)
    if "points" in checks and block.kind_a == block.kind_b:
        yield from check_points(block)
        yield from check_rays(block)


def run_block(kind_a: str, kind_b: str, number: int, seed: int, tally: Tally, checks: tuple[str, ...] = CHECKS) -> None:
    """Check one block and add to the tally."""
    block = make_block(kind_a, kind_b, number, seed)
    tally.poses += ROWS
    tally.compared += ORACLE_ROWS if "oracles" in checks else 0
    tally.unconverged[kind_a, kind_b] += int((query(block, signed=True).status == UNCONVERGED).sum())
    tally.failures += check_block(block, checks)


def show_row(kind_a: str, kind_b: str, number: int, seed: int, row: int, checks: tuple[str, ...] = CHECKS) -> None:
    """Print everything about one row: shapes, poses, answers, reference, and the rules it breaks."""
    np.set_printoptions(precision=17, linewidth=140)
    whole = make_block(kind_a, kind_b, number, seed)
    block = whole.rows([row])
    print(f"pose kind {POSES[row % len(POSES)]}, size {block.size!r}, allowed error {block.limit[0]:.3g}")
    print(f"a = {block.a!r}\nb = {block.b!r}")
    print(f"pose_a rows = {block.pose_a.rows[0].tolist()}\npose_b rows = {block.pose_b.rows[0].tolist()}")
    for signed in (True, False):
        print(f"signed={signed}: {query(block, signed=signed)}")
    print("oracle:", convex.signed_distance(block.a, block.b, block.pose_a.rows, block.pose_b.rows))
    broken = [failure for failure in check_block(whole, checks) if failure.row == row]
    for failure in [*broken, *check_oracles(block)]:
        print(f"broken: {failure.check}, {failure.error:.3g} where {failure.limit:.3g} is allowed")


def report(failures: list[Failure]) -> None:
    """Failures by rule: how many, of which pairs, and the first of them."""
    for check, count in Counter(failure.check for failure in failures).most_common():
        ours = [failure for failure in failures if failure.check == check]
        pairs = Counter(f"{failure.block.kind_a}-{failure.block.kind_b}" for failure in ours)
        print(f"{count} x {check}: " + ", ".join(f"{pair} {n}" for pair, n in pairs.most_common()))
        print(f"  {ours[0]}")


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="ci")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checks", nargs="+", choices=CHECKS, default=CHECKS, help="only these groups of rules")
    parser.add_argument("--pair", nargs=2, metavar=("A", "B"), choices=KINDS, help="only this ordered pair of kinds")
    parser.add_argument("--block", type=int, help="only this block")
    parser.add_argument("--row", type=int, help="with --pair and --block: print everything about one row")
    chosen = parser.parse_args(arguments)
    checks = tuple(chosen.checks)
    if chosen.row is not None:
        if chosen.pair is None or chosen.block is None:
            parser.error("--row needs --pair and --block")
        show_row(*chosen.pair, chosen.block, chosen.seed, chosen.row, checks)
        return
    pairs = [tuple(chosen.pair)] if chosen.pair else [(a, b) for a in KINDS for b in KINDS]
    numbers = range(SIZES[chosen.size]) if chosen.block is None else [chosen.block]
    tally, start = Tally(), time.perf_counter()
    for done, (a, b) in enumerate(pairs, 1):
        before = len(tally.failures)
        for number in numbers:
            run_block(a, b, number, chosen.seed, tally, checks)
        seconds = time.perf_counter() - start
        outcome = f"{len(tally.failures) - before:5} failures {tally.unconverged[a, b]:5} unconverged"
        print(f"{done:3}/{len(pairs)}  {a + '-' + b:22} {outcome} {seconds:7.1f} s", flush=True)
    report(tally.failures)
    undecided = sum(tally.unconverged.values())
    print(
        f"{tally.poses} poses, {tally.compared} compared with oracles, {undecided} unconverged, {len(tally.failures)} failures"
    )
    sys.exit(bool(tally.failures))
