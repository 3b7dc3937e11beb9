"""The exact predicates against fractions, and that the compiler leaves their error terms alone."""

import math
import os
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.geometry.strategies import coordinate, points, rough, steady
from tests.oracles import geometry as oracle
from thud._core.decorators import exact_kernel, kernel
from thud.geometry import predicates


@exact_kernel
def _inlined_two_sum(a, b):
    return predicates.two_sum(a, b)


@kernel
def _orient3d_from_fast_code(a, b, c, d):
    return predicates.orient3d(a, b, c, d)


@exact_kernel
def _first_called_by_fast_code(a, b):
    s = a + b
    t = s - a
    return (a - (s - t)) + (b - t)


@kernel
def _fast_caller(a, b):
    return _first_called_by_fast_code(a, b)


def test_exact_code_stays_exact_when_fast_code_compiles_it():
    # Numba hands the caller's fast-math on to a function that says nothing about it, and keeps that version in its cache.
    assert _fast_caller(1.0, 1e-20) == 1e-20


def test_two_sum_survives_compilation():
    # With fast-math's `reassoc` the compiler proves the error term to be 0, which it is in real numbers.
    assert _inlined_two_sum(1.0, 1e-20) == (1.0, 1e-20)
    assert predicates.two_diff(1.0, 1e-20) == (1.0, -1e-20)
    assert predicates.two_product(1.0 + 2.0**-30, 1.0 + 2.0**-30) == (1.0 + 2.0**-29, 2.0**-60)


@steady
@given(rough, rough)
def test_two_product_and_sum_are_exact(a, b):
    fa, fb = oracle.rational([a, b])
    for (high, low), exact in ((predicates.two_product(a, b), fa * fb), (predicates.two_sum(a, b), fa + fb)):
        assert sum(oracle.rational([high, low])) == exact


@steady
@given(points(2, 3))
def test_orient2d(p):
    exact = oracle.orient2d(*p)
    assert oracle.sign(predicates.orient2d(*p)) == oracle.sign(exact)
    assert math.isclose(predicates.orient2d_precise(*p), float(exact), rel_tol=1e-11)


@steady
@given(points(3, 4))
def test_orient3d(p):
    exact = oracle.orient3d(*p)
    assert oracle.sign(predicates.orient3d(*p)) == oracle.sign(exact)
    assert math.isclose(predicates.orient3d_precise(*p), float(exact), rel_tol=1e-11)


@steady
@given(points(3, 3), st.tuples(coordinate, coordinate, coordinate))
def test_line_side_and_cross_component(p, d):
    o, a, b = (oracle.rational(x) for x in p)
    f = oracle.rational(d)
    exact = oracle.dot(f, oracle.cross(oracle.sub(a, o), oracle.sub(b, o)))
    assert oracle.sign(predicates.line_side(p[0], d, p[1], p[2])) == oracle.sign(exact)
    assert predicates.line_side(p[0], d, p[2], p[1]) == -predicates.line_side(p[0], d, p[1], p[2])
    assert math.isclose(predicates.line_side_precise(p[0], d, p[1], p[2]), float(exact), rel_tol=1e-11)
    for axis, component in enumerate(oracle.cross(f, oracle.sub(a, b))):
        assert oracle.sign(predicates.cross_component(d, p[1], p[2], axis)) == oracle.sign(component)


def test_nearly_coplanar_points_are_told_apart():
    # Points of a plane, rounded: the determinant is all rounding error, and plain floating point guesses.
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(300):
        a, b, c = rng.normal(size=(3, 3))
        d = tuple(0.25 * a + 0.5 * b + 0.25 * c)
        a, b, c = tuple(a), tuple(b), tuple(c)
        exact = oracle.sign(oracle.orient3d(a, b, c, d))
        assert oracle.sign(predicates.orient3d(a, b, c, d)) == exact
        # Called by fast code, not inlined into it by us: the same answer.
        assert oracle.sign(_orient3d_from_fast_code(a, b, c, d)) == exact
        plain = np.dot(np.cross(np.subtract(b, a), np.subtract(c, a)), np.subtract(d, a))
        wrong += oracle.sign(plain) != exact
    assert wrong > 10


@steady
@given(points(3, 4), st.integers(-60, 60))
def test_scaling_by_powers_of_two_changes_no_sign(p, exponent):
    scaled = [tuple(math.ldexp(x, exponent) for x in q) for q in p]
    assert oracle.sign(predicates.orient3d(*scaled)) == oracle.sign(oracle.orient3d(*p))


def test_without_compiler():
    # NUMBA_DISABLE_JIT=1 runs the same functions as plain Python, with an array from the heap.
    code = (
        "from thud.geometry.predicates import orient3d\n"
        "from thud.geometry.segment_exact import segment_segment\n"
        "p = [(0.1, 0.2, 0.3), (1.1, 0.7, 0.3), (0.4, 2.0, 0.3), (0.5, 0.6, 0.3)]\n"
        "assert orient3d(*p) == 0.0\n"
        "assert segment_segment((0.,0.,0.), (2.,2.,0.), (0.,2.,0.), (2.,0.,0.)) == (1, (1.,1.,0.), (1.,1.,0.))\n"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=True)
