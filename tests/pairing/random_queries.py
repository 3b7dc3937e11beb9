"""Random questions to every query of every family of shapes, legal and illegal, with answers checked by `oracles/solids.py`.

A legal question must be answered, and rightly; an illegal one, or one that the pair table does not support, must be refused
with a named error. `python -m tests.pairing.random_queries --draws 20000 --seed 0` asks many; `--only N` repeats one.
What is asked is drawn in `random_draws.py`; answers are checked in `random_checks.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import thud
from tests.oracles.solids import Pair
from tests.pairing.random_checks import (
    CAST_UNCONVERGED,
    UNCONVERGED,
    Mismatch,
    check_cache,
    check_cast_row,
    check_closest_row,
    check_contacts,
    check_contains,
    check_crossings,
    check_distance_row,
    check_intersects,
    check_pairs,
    check_prepared,
    check_ray_row,
    check_rows,
    check_single_row,
    check_triangle_pairs,
    check_turned_cast,
    check_turned_contacts,
    check_turned_distance,
    require,
    unnamed,
)
from tests.pairing.random_draws import (
    FAMILIES,
    PAIR_NAMES,
    STUBBORN,
    PairDraw,
    Poses,
    ShapeDraw,
    axes_of,
    banish,
    cache_of,
    describe,
    disguised,
    draw_motion,
    draw_shape,
    draw_turn,
    method_of,
    pair_refusal,
    spoil,
    threads_of,
)
from thud.errors import ThudError
from thud.pairing.plans import UNSUPPORTED, families_in, shape_entries, shape_plan, takes


@dataclass
class Question:
    """A call, what is wrong with it, and how its answer is checked."""

    query: str
    arguments: dict
    options: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)
    """Arguments that are illegal: the question must be refused."""
    refusal: str = "none"
    """By the pair table: "none", "must" or "may" be refused."""
    check: object = None
    shapes: tuple = ()
    unsure: int = 0
    """Rows that ended at an iteration limit."""

    def __str__(self):
        options = {name: value for name, value in self.options.items() if value is not None}
        return f"{self.query}{self.shapes} {options} wrong={self.wrong} refusal={self.refusal}"

    def ask(self):
        """Put it; "answered" or "refused"."""
        call = getattr(thud, self.query) if self.query != "prepare" else prepared_answers
        try:
            found = call(**self.arguments, **self.options)
        except ThudError as error:
            text = str(error)
            require(self.wrong or self.refusal != "none", "refused a legal question:", type(error).__name__, text)
            names = [
                *self.wrong,
                *(["intersects", "distance", "contacts"] if self.query == "prepare" else []),
                self.query.replace("_pairs", ""),
            ]
            require(any(name in text for name in names), "the error names none of", names, ":", text)
            return "refused"
        except Exception as error:
            raise unnamed(error) from error
        require(not self.wrong, "answered, though illegal:", self.wrong, {k: self.options.get(k) for k in self.wrong})
        require(self.refusal != "must", "answered what the table does not support")
        status = getattr(found, "status", None)
        if status is not None:
            self.unsure = int((status == (CAST_UNCONVERGED if self.query == "cast" else UNCONVERGED)).sum())
        try:
            self.check(found)
        except Mismatch:
            raise
        except Exception as error:
            raise unnamed(error, "while checking: ") from error
        return "answered"


def prepared_answers(a, b, pose_a, pose_b, signed, margin):
    """What a prepared pair says, all of it."""
    pair = thud.prepare(a, b)
    return (
        pair.intersects(pose_a, pose_b),
        pair.distance(pose_a, pose_b, signed=signed),
        pair.contacts(pose_a, pose_b, margin=margin),
    )


# Pairs of shapes ---------------------------------------------------------------------------------------------------------


def distance_question(rng):
    """`distance`, unsigned or signed."""
    draw = PairDraw(rng)
    signed = bool(rng.random() < 0.5)
    query = "signed_distance" if signed else "distance"
    question = Question("distance", draw.arguments(), {"signed": signed}, shapes=draw.names)
    question.refusal = pair_refusal(query, draw.a, draw.b)
    reach = np.inf
    if rng.random() < 0.35:
        reach = [0.0, 0.05, 0.3, 2.0][rng.integers(4)]
        question.options["max_distance"] = reach
    method_of(rng, question, query, [(draw.a, draw.b)], ["gjk", "v_clip", "sat", "chung_wang"])
    axes_of(rng, question, query, [(draw.a, draw.b)], draw.count)
    cache_of(rng, question, query, draw)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"max_distance": "max_distance", "method": "method", "axes": "axes", "cache": "cache"})

    def check(found):
        check_rows(found, draw.count, ["distance", "point_a", "point_b", "normal", "status"])
        for k in range(draw.count):
            check_distance_row(draw, draw.at(k), found, k, reach, signed)
        check_cache(question, draw, found)
        if "axes" in question.options or "method" in question.options:
            return
        check_single_row(question, draw, found, draw.count - 1)
        turned = thud.distance(**draw.swapped(), signed=signed, max_distance=reach)
        for k in range(draw.count):
            check_turned_distance(draw, found, turned, k, signed, reach)

    question.check = check
    return question


def intersects_question(rng):
    """`intersects`."""
    draw = PairDraw(rng)
    question = Question("intersects", draw.arguments(), shapes=draw.names)
    question.refusal = pair_refusal("intersects", draw.a, draw.b)
    method_of(rng, question, "intersects", [(draw.a, draw.b)], ["gjk", "v_clip", "sat", "chung_wang"])
    axes_of(rng, question, "intersects", [(draw.a, draw.b)], draw.count)
    cache_of(rng, question, "intersects", draw)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"method": "method", "axes": "axes", "cache": "cache"})

    question.check = partial(check_intersects, question, draw)
    return question


def contacts_question(rng):
    """`contacts`."""
    draw = PairDraw(rng)
    question = Question("contacts", draw.arguments(), shapes=draw.names)
    question.refusal = pair_refusal("contacts", draw.a, draw.b)
    margin, most = 0.0, 8
    if rng.random() < 0.5:
        margin = question.options["margin"] = [0.0, 0.01, 0.2][rng.integers(3)]
    if rng.random() < 0.5:
        most = question.options["max_points"] = int(rng.integers(1, 9))
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"margin": "margin", "max_points": "max_points"})

    def check(found):
        check_contacts(draw, found, margin, most)
        if draw.count and question.refusal == "none":
            check_turned_contacts(question, draw, found)

    question.check = check
    return question


def cast_question(rng):
    """`cast`, with or without rotations."""
    draw = PairDraw(rng, count=int(rng.integers(1, 3)))
    draw.pair = Pair(draw.solid_a, draw.solid_b, 40)
    move_a, move_b = draw_motion(rng, draw.count), draw_motion(rng, draw.count)
    if rng.random() < 0.3:
        move_a = np.zeros((1, 3))
    turning = any(move.shape[1] == 6 and move[:, 3:].any() for move in (move_a, move_b))
    arguments = {
        **draw.arguments(),
        "motion_a": move_a,
        "motion_b": move_b if rng.random() < 0.7 or len(move_b) > 1 else move_b[0],
    }
    question = Question("cast", arguments, shapes=draw.names)
    question.refusal = pair_refusal("turning_cast" if turning else "cast", draw.a, draw.b)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"motion_a": "motion", "motion_b": "motion"})

    def check(found):
        check_rows(found, draw.count, ["time", "point", "normal", "status"])
        for k in range(draw.count):
            check_cast_row(draw, move_a, move_b, found, k)
        check_single_row(question, draw, found, draw.count - 1)
        check_turned_cast(draw, move_a, move_b, found)

    question.check = check
    return question


def triangle_pairs_question(rng):
    """`triangle_pairs`."""
    families = ("mesh", "mesh") if rng.random() < 0.8 else None
    draw = PairDraw(rng, families)
    question = Question("triangle_pairs", draw.arguments(), shapes=draw.names)
    question.refusal = pair_refusal("triangle_pairs", draw.a, draw.b)
    cache_of(rng, question, "triangle_pairs", draw)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"cache": "cache"})

    def check(found):
        check_triangle_pairs(draw, found)
        check_cache(question, draw, found)

    question.check = check
    return question


def prepare_question(rng):
    """`prepare`, and what the prepared pair says."""
    draw = PairDraw(rng, count=1)
    signed, margin = bool(rng.random() < 0.4), float(rng.choice([0.0, 0.1]))
    arguments = {**draw.arguments(), "signed": signed, "margin": margin}
    question = Question("prepare", arguments, shapes=draw.names)
    query = "signed_distance" if signed else "distance"
    refusals = {pair_refusal(name, draw.a, draw.b) for name in ("intersects", query, "contacts")}
    question.refusal = "must" if "must" in refusals else "may" if "may" in refusals else "none"
    spoil(rng, question, {"a": "shape", "b": "shape", "pose_a": "pose", "pose_b": "pose", "margin": "margin"})

    question.check = partial(check_prepared, draw, signed, margin)
    return question


def pairs_question(rng):
    """`intersects_pairs`, `distance_pairs` or `contacts_pairs`."""
    count = int(rng.integers(1, 5))
    shapes = [draw_shape(rng, FAMILIES[rng.integers(len(FAMILIES))] if rng.random() < 0.6 else "convex") for _ in range(count)]
    if rng.random() < 0.3:
        shapes.append(shapes[0])
    poses = Poses(draw_turn(rng, len(shapes)), rng.uniform(-0.8, 0.8, (len(shapes), 3)))
    table = rng.integers(len(shapes), size=(int(rng.integers(1, 5)) if rng.random() < 0.97 else 0, 2))
    kind = ["intersects", "distance", "contacts"][rng.integers(3)]
    signed = kind == "distance" and bool(rng.random() < 0.4)
    query = "signed_distance" if signed else kind
    pairs = [(shapes[i], shapes[j]) for i, j in table]
    names = tuple(describe(shape) for shape in shapes)
    question = Question(
        f"{kind}_pairs", {"shapes": shapes, "pairs": table, "poses": poses.given(rng)}, shapes=(names, table.tolist())
    )
    refusals = {pair_refusal(query, *pair) for pair in pairs}
    question.refusal = "must" if "must" in refusals else "may" if "may" in refusals else "none"
    names = {"shapes": "shapes", "pairs": "pairs", "poses": "pose", "threads": "threads"}
    single = {}
    if kind == "contacts":
        if rng.random() < 0.5:
            single = {"margin": 0.1, "max_points": int(rng.integers(1, 9))}
        names |= {"margin": "margin", "max_points": "max_points"}
    else:
        method_of(rng, question, query, pairs, ["gjk", "v_clip", "v_clip"])
        axes_of(rng, question, query, pairs, len(pairs))
        names |= {"method": "method", "axes": "axes"}
    if kind == "distance":
        single = {"signed": signed, "max_distance": float(rng.choice([np.inf, 0.2]))}
        names |= {"max_distance": "max_distance"}
    question.options |= single
    threads_of(rng, question)
    spoil(rng, question, names)

    question.check = partial(check_pairs, question, kind, table, single)
    return question


# Single shapes -----------------------------------------------------------------------------------------------------------


def contains_question(rng):
    """`contains`."""
    draw = ShapeDraw(rng)
    arguments = {"shape": draw.shape, "points": disguised(rng, draw.points)}
    question = Question("contains", arguments, {"pose": draw.given}, shapes=draw.name)
    method = None
    if rng.random() < 0.5:
        method = ["ray", "winding", "grid", "parts"][rng.integers(4)]
        if method == "parts" and "mesh" in families_in(draw.shape):
            # It decomposes the mesh, which takes long.
            method = "winding"
        fits = any(takes(entry, "method", method) for entry in shape_entries("contains", draw.shape))
        if fits or rng.random() < STUBBORN:
            question.options["method"] = method
        else:
            method = None
        if method is not None and not fits:
            question.wrong.append("method")
    if draw.has_open_mesh and method != "winding":
        question.refusal = "may"
    threads_of(rng, question)
    spoil(
        rng, question, {"shape": "shape", "points": "points", "pose": "pose", "method": "contains method", "threads": "threads"}
    )

    question.check = partial(check_contains, draw, method)
    return question


def closest_point_question(rng):
    """`closest_point`."""
    draw = ShapeDraw(rng)
    signed = bool(rng.random() < 0.5)
    arguments = {"shape": draw.shape, "points": disguised(rng, draw.points)}
    question = Question("closest_point", arguments, {"pose": draw.given, "signed": signed}, shapes=draw.name)
    if signed and draw.has_open_mesh:
        question.refusal = "may"
    threads_of(rng, question)
    spoil(rng, question, {"shape": "shape", "points": "points", "pose": "pose", "threads": "threads"})

    def check(found):
        check_rows(found, draw.count, ["distance", "point", "triangle"])
        for k in range(draw.count):
            check_closest_row(draw, draw.at(k), found, k, signed)

    question.check = check
    return question


def rays_of(rng, query):
    """A question about rays, and its limit."""
    draw = ShapeDraw(rng)
    arguments = {"shape": draw.shape, "origins": disguised(rng, draw.points), "directions": disguised(rng, draw.directions)}
    question = Question(query, arguments, {"pose": draw.given}, shapes=draw.name)
    question.refusal = "must" if shape_plan(query, draw.shape.family).way == UNSUPPORTED else "none"
    reach = np.inf
    if rng.random() < 0.35:
        reach = question.options["max_distance"] = [0.0, 0.3, 1.0, 5.0][rng.integers(4)]
    names = {"shape": "shape", "origins": "points", "directions": "directions", "pose": "pose", "threads": "threads"}
    return draw, question, reach, names | {"max_distance": "max_distance"}


def raycast_question(rng):
    """`raycast`."""
    draw, question, reach, names = rays_of(rng, "raycast")
    any_hit = bool(rng.random() < 0.3)
    if any_hit:
        question.options["any_hit"] = True
    threads_of(rng, question)
    spoil(rng, question, names)

    def check(found):
        check_rows(found, draw.count, ["distance", "point", "normal", "triangle"])
        for k in range(draw.count):
            check_ray_row(draw, draw.at(k), found, k, reach, any_hit)

    question.check = check
    return question


def raycast_all_question(rng):
    """`raycast_all`."""
    draw, question, reach, names = rays_of(rng, "raycast_all")
    threads_of(rng, question)
    spoil(rng, question, names)

    question.check = partial(check_crossings, draw, reach)
    return question


# Runs --------------------------------------------------------------------------------------------------------------------


QUESTIONS = {
    "distance": (distance_question, 5),
    "intersects": (intersects_question, 3),
    "contacts": (contacts_question, 3),
    "cast": (cast_question, 3),
    "triangle_pairs": (triangle_pairs_question, 1),
    "prepare": (prepare_question, 1),
    "pairs": (pairs_question, 2),
    "raycast": (raycast_question, 2),
    "raycast_all": (raycast_all_question, 2),
    "contains": (contains_question, 2),
    "closest_point": (closest_point_question, 2),
}


def draw_question(seed, number):
    """Question `number` of a seed."""
    rng = np.random.default_rng([seed, number])
    weights = np.array([weight for _, weight in QUESTIONS.values()], dtype=float)
    make, _ = list(QUESTIONS.values())[rng.choice(len(weights), p=weights / weights.sum())]
    return make(rng)


def run_draws(seed, first, count, progress=False, tally=None):
    """Ask questions; (number, text) of those that failed."""
    failures = []
    tally = Counter() if tally is None else tally
    begin = time.perf_counter()
    for number in range(first, first + count):
        question = draw_question(seed, number)
        try:
            tally[question.query, question.ask()] += 1
            tally[question.query, "rows unconverged"] += question.unsure
        except Mismatch as error:
            failures.append((number, f"--seed {seed} --only {number}: {question}\n    {error}"))
            tally[question.query, "failed"] += 1
            if progress:
                print(f"\r{failures[-1][1]}", flush=True)
        if progress and (number % 50 == 0 or number == first + count - 1):
            rate = (number - first + 1) / (time.perf_counter() - begin)
            print(
                f"\r{number - first + 1} of {count} draws, {len(failures)} failed, {rate:.0f} a second ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    return failures


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    first, count = (given.first, given.draws) if given.only is None else (given.only, 1)
    tally = Counter()
    failures = run_draws(given.seed, first, count, True, tally)
    print()
    for (query, how), number in sorted(tally.items()):
        print(f"{query:18} {how:16} {number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
