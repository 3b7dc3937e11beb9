"""Frequencies, shapes and sounds of simple bodies by other routes than closed forms: matrices and quadrature. Slow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import diags, identity, kron
from scipy.sparse.linalg import eigsh

Floats = npt.NDArray[np.float64]


def plate_frequencies(sides: tuple[float, float], speed: float, count: int, points: int = 60) -> tuple[Floats, Floats]:
    """Lowest Hz and shapes (points, points, count) of a simply supported plate: finite differences of the squared Laplacian.

    `speed`: sqrt(D / (rho h)), m^2/s.
    """
    parts = []
    for side in sides:
        h = side / (points + 1)
        parts.append(diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(points, points)) / h**2)
    laplace = kron(parts[0], identity(points)) + kron(identity(points), parts[1])
    # On a simply supported edge both the deflection and its Laplacian vanish: the operator is the square of Dirichlet's.
    values, vectors = eigsh((laplace @ laplace).tocsc(), k=count, sigma=0.0)
    order = np.argsort(values)
    return speed * np.sqrt(values[order]) / (2.0 * np.pi), vectors[:, order].reshape(points, points, count)


def clamped_disc_frequencies(radius: float, speed: float, n: int, count: int, points: int = 400) -> Floats:
    """Lowest Hz of a clamped disc with n waves around, by Ritz's method with (1 - x^2)^2 x^n P_k(x)."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    x, w = 0.5 * (nodes + 1.0), 0.5 * weights
    size = count + 8
    mass, stiff = np.zeros((size, size)), np.zeros((size, size))
    values, curved = [], []
    for k in range(size):
        legendre = np.polynomial.legendre.Legendre.basis(k, domain=[0.0, 1.0]).convert(kind=np.polynomial.Polynomial)
        # In y = x^2, as functions of (x, theta) that are smooth at the middle must be.
        inner = legendre(np.polynomial.Polynomial([0.0, 0.0, 1.0]))
        f = np.polynomial.Polynomial([1.0, 0.0, -1.0]) ** 2 * inner * np.polynomial.Polynomial([0.0, 1.0]) ** n
        values.append(f(x))
        curved.append(f.deriv(2)(x) + f.deriv()(x) / x - n * n * f(x) / x**2)
    # On a clamped rim Poisson's ratio drops out: the energy is that of the squared Laplacian.
    for i in range(size):
        for j in range(size):
            mass[i, j] = np.sum(w * x * values[i] * values[j])
            stiff[i, j] = np.sum(w * x * curved[i] * curved[j])
    found = eigh(stiff, mass, eigvals_only=True)[:count]
    return speed / radius**2 * np.sqrt(found) / (2.0 * np.pi)


def free_bar_frequencies(length: float, speed: float, count: int, elements: int = 80) -> tuple[Floats, Floats]:
    """Lowest Hz, but for the two of rigid motion, and shapes at the nodes, of a bar with free ends: Hermite's finite elements.

    `speed`: sqrt(E I / (rho A)), m^2/s.
    """
    h = length / elements
    stiff_part = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
                           [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]) / h**3  # fmt: skip
    mass_part = np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
                          [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]) * h / 420.0  # fmt: skip
    size = 2 * (elements + 1)
    stiff, mass = np.zeros((size, size)), np.zeros((size, size))
    for e in range(elements):
        here = slice(2 * e, 2 * e + 4)
        stiff[here, here] += stiff_part
        mass[here, here] += mass_part
    values, vectors = eigh(stiff, mass)
    return speed * np.sqrt(values[2 : 2 + count]) / (2.0 * np.pi), vectors[::2, 2 : 2 + count]


def shell_frequency(
    radius: float, length: float, thickness: float, m: int, n: int, young: float, nu: float, rho: float
) -> float:
    """Lowest Hz of a shell, m half waves along and n around: Donnell's three equations, in-plane inertia and all."""
    a, b = m * np.pi * radius / length, float(n)
    k = thickness**2 / (12.0 * radius**2)
    matrix = np.array(
        [
            [a * a + 0.5 * (1.0 - nu) * b * b, 0.5 * (1.0 + nu) * a * b, nu * a],
            [0.5 * (1.0 + nu) * a * b, 0.5 * (1.0 - nu) * a * a + b * b, b],
            [nu * a, b, 1.0 + k * (a * a + b * b) ** 2],
        ]
    )
    lowest = np.linalg.eigvalsh(matrix)[0]
    return float(np.sqrt(lowest * young / (rho * (1.0 - nu**2))) / (2.0 * np.pi * radius))


def radiation_efficiency(sides: tuple[float, float], m: int, n: int, k: float, points: int = 40) -> float:
    """Of a mode of a plate in a rigid wall, for waves of k rad/m: the power by Rayleigh's integral over pairs of places."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    x, w = 0.5 * (nodes + 1.0), 0.5 * weights
    a, b = sides
    px, py = (p.ravel() for p in np.meshgrid(a * x, b * x, indexing="ij"))
    area = np.outer(w, w).ravel() * a * b
    shape = np.sin(m * np.pi * px / a) * np.sin(n * np.pi * py / b) * area
    far = np.hypot(px[:, None] - px, py[:, None] - py)
    power = k * k / (2.0 * np.pi) * shape @ np.sinc(k * far / np.pi) @ shape
    return float(power / (a * b * 0.25))


def hertz_contact_time(mass: float, radius: float, modulus: float, speed: float) -> float:
    """Seconds until a ball leaves an elastic half-space: its motion under Hertz's force, by Runge and Kutta in small steps."""
    stiffness = 4.0 / 3.0 * modulus * np.sqrt(radius)
    scale = (mass**2 / (radius * modulus**2 * speed)) ** 0.2
    dt, x, v, t = scale / 2000.0, 0.0, speed, 0.0

    def pull(depth: float) -> float:
        return -stiffness / mass * max(depth, 0.0) ** 1.5

    while t == 0.0 or x > 0.0:
        k1, l1 = v, pull(x)
        k2, l2 = v + 0.5 * dt * l1, pull(x + 0.5 * dt * k1)
        k3, l3 = v + 0.5 * dt * l2, pull(x + 0.5 * dt * k2)
        k4, l4 = v + dt * l3, pull(x + dt * k3)
        x, v, t = x + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6.0, v + dt * (l1 + 2 * l2 + 2 * l3 + l4) / 6.0, t + dt
    return t
