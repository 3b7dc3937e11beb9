"""Impact times against 50-digit arithmetic, for every elementary collider, straight and curved paths, all scales."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.particle_paths import first_impact
from tests.particles.scenes import KINDS, random_collider, random_paths
from thud import particles as p


def check(x, v, a, colliders, life: float, grazing: list[float], scale: float) -> int:
    """Compare all first impacts; returns how many there were."""
    system = p.ParticleSystem(x, v, a, lifetime=life)
    got = system.impacts(colliders, 0.0, life)
    elements = [(k, e) for k, c in enumerate(colliders) for e in c.elements()]
    found = {int(row): k for k, row in enumerate(got.particle)}
    assert len(found) == len(got)
    size = scale + float(np.abs(x).max())
    hits = 0
    for row in range(len(x)):
        t, collider, steep, margin = first_impact(elements, x[row], v[row], a[row], life)
        if margin < 1e-11 * size:
            continue
        if collider < 0:
            assert row not in found, (row, got.time[found[row]])
            continue
        hits += 1
        if steep < 1e-4 and row not in found:
            grazing.append(steep)
            continue
        k = found[row]
        if steep >= 1e-4:
            assert abs(float(got.time[k] - t)) <= 1e-12 * max(float(t), 1.0), (row, steep)
            assert got.collider[k] == collider
        else:
            grazing.append(steep)
    return hits


@pytest.mark.parametrize("kind", range(KINDS))
@pytest.mark.parametrize("curved", [False, True])
def test_times_are_right_to_12_digits(kind: int, curved: bool) -> None:
    rng = np.random.default_rng(100 * kind + curved)
    hits, grazing = 0, []
    for _ in range(3):
        colliders = [random_collider(rng, kind) for _ in range(2)]
        hits += check(*random_paths(rng, 10, curved=curved), colliders, 3.0, grazing, 1.0)
    assert hits > 5


@pytest.mark.parametrize(("scale", "far"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e6), (1e-3, 1e3), (1e-28, 0.0), (1e28, 0.0)])
def test_all_scales(scale: float, far: float) -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for kind in range(KINDS):
        colliders = [random_collider(rng, kind, scale, far)]
        hits += check(*random_paths(rng, 8, scale, far), colliders, 3.0, [], scale)
    assert hits > 50
