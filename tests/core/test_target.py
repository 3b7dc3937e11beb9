"""Levels of processors: what is pinned is what Numba compiles for, and has kernels of its own."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tests.core.processes import compiled, python
from thud._core import target

FITTING = [level for level in target.LEVELS if target.fits_host(level)]
_TEXT = "from thud._core import decorators, target; print(*target.target_text(), sep='|')"


@pytest.mark.parametrize("level", FITTING, ids=[level.name for level in FITTING])
def test_numba_compiles_for_the_pinned_level(level: target.Level) -> None:
    done = python(_TEXT, THUD_TARGET=level.name)
    assert done.returncode == 0, done.stderr
    _, processor, features = done.stdout.strip().split("|")
    assert processor == level.processor
    assert set(features.split(",")) == {f"+{feature}" for feature in level.features}


def test_levels_grow() -> None:
    for lower, upper in zip(target.LEVELS, target.LEVELS[1:]):
        assert set(lower.features) < set(upper.features)


def test_machine_code_keeps_to_its_level(tmp_path: Path) -> None:
    # 256 bits wide registers are named ymm, 512 bits wide ones zmm; SSE has neither.
    (tmp_path / "wide.py").write_text(
        "from thud._core.decorators import kernel\n"
        "@kernel('f8[::1], f8[::1]')\n"
        "def add(a, b):\n"
        "    for i in range(len(a)):\n"
        "        b[i] += a[i]\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np, wide\n"
        "wide.add(np.ones(8), np.ones(8))\n"
        "print(next(iter(wide.add.inspect_asm().values())))"
    )
    for level in FITTING:
        # Compiled anew, since what is loaded has no assembly to show.
        text = python(code, THUD_TARGET=level.name, THUD_CACHE_DIR=str(tmp_path / level.name)).stdout
        assert "xmm" in text
        assert ("ymm" in text) == (level.name != "sse4.2")


@pytest.mark.parametrize("name", ["avx9", "AVX2", " "])
def test_a_level_that_does_not_exist_is_named(name: str) -> None:
    done = python("import thud; thud.contains(thud.Sphere(1.0), [0, 0, 0])", THUD_TARGET=name)
    assert done.returncode != 0
    assert "THUD_TARGET: expected host, sse4.2, avx2, avx512" in done.stderr


def test_a_level_that_the_processor_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THUD_TARGET", "avx512")
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"sse2": True})
    with pytest.raises(target.InvalidInputError, match="does not have all of level 'avx512'"):
        target.pinned_level()


@pytest.mark.skipif(len(FITTING) < 2, reason="this processor has one level only")
def test_levels_have_kernels_of_their_own(tmp_path: Path) -> None:
    code = "import numpy as np; from tests.core import tiny_kernel; tiny_kernel.rows(np.zeros(1))"
    settings = {"THUD_CACHE_DIR": str(tmp_path)}
    assert compiled(code, THUD_TARGET=FITTING[0].name, **settings)
    assert compiled(code, THUD_TARGET=FITTING[1].name, **settings)
    assert compiled(code, THUD_TARGET=FITTING[0].name, **settings) == []
