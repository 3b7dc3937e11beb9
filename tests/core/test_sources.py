"""Outlines of sources: what changes no machine code changes no digest, and everything else does."""

from __future__ import annotations

import pytest

from thud._core.sources import outlines_of

BASE = '''
@kernel("f8[::1]")
def f(values, out):
    """Says something."""
    total = 0.0
    for i in range(len(values)):
        total += LIMIT * values[i] + np.float64(helper(i))
    return total
'''


def outline(text: str):
    (found,) = outlines_of(text).functions.values()
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('    """Says something."""\n', ""),
        ("Says something", "Says something else,\n    in two lines"),
        ("    total = 0.0\n", "    # A comment.\n\n    total = 0.0  # and one more\n"),
        ("(values, out)", "(values: Any, out: Any) -> float"),
        ('@kernel("f8[::1]")\n', ""),
        ("    total = 0.0\n", "    'a string as a comment'\n    total = 0.0\n"),
        ("LIMIT * values[i] + np", "LIMIT * (values[i]) + (np"),
    ],
)
def test_words_and_layout_do_not_count(before: str, after: str) -> None:
    changed = BASE.replace(before, after)
    if after.endswith("(np"):
        changed = changed.replace("(helper(i))", "(helper(i)))")
    assert changed != BASE
    assert outline(changed).digest == outline(BASE).digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0.0", "-0.0"),
        ("0.0", "0"),
        ("+=", "-="),
        ("LIMIT *", "LIMITS *"),
        ("np.float64", "np.float32"),
        ("values[i]", "values[1:]"),
        ("(values, out)", "(out, values)"),
        ("return total", "return +total"),
        ("range(len(values))", "range(len(values), step=1)"),
    ],
)
def test_code_counts(before: str, after: str) -> None:
    assert outline(BASE.replace(before, after, 1)).digest != outline(BASE).digest


def test_a_missing_bound_is_not_the_other_one() -> None:
    texts = ["a[1:]", "a[:1]", "a[::1]", "a[1]", "a[1:None]"]
    assert len({outline(f"def f(a):\n    return {text}\n").digest for text in texts}) == len(texts)


def test_names_from_outside_with_their_attributes() -> None:
    assert outline(BASE).names == ("LIMIT", "helper", "len", "np.float64", "range")
    nested = "def f(x):\n    k = 1\n    def g(y):\n        return y + k + OUTER\n    return g\n"
    functions = outlines_of(nested).functions
    assert functions[1].names == ("OUTER",)
    assert set(functions[3].names) == {"k", "OUTER"}


def test_functions_are_found_by_the_line_of_their_first_decorator() -> None:
    assert set(outlines_of(BASE).functions) == {2}
