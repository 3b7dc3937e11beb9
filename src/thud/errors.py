"""Every error thud raises. Each is a `ThudError` and, where one fits, also the built-in a caller would expect.

No query raises for "no hit": that is data (`inf`, `-1`). These errors speak of input that cannot be answered and
name the argument, the row and what was expected.
"""

from __future__ import annotations

__all__ = [
    "FileFormatError",
    "InvalidInputError",
    "InvalidPoseError",
    "InvalidShapeError",
    "MissingExtraError",
    "NoSurfaceError",
    "StaleHandleError",
    "ThudError",
    "UnboundedShapeError",
    "UnsupportedQueryError",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class ThudError(Exception):
    """Base of all errors of this package."""


class InvalidInputError(ThudError, ValueError):
    """An argument has the wrong shape, a NaN, an infinity, or a value out of its range."""


class InvalidPoseError(InvalidInputError):
    """A pose is not a rigid motion: a quaternion or rotation matrix is not of unit length or not right-handed."""


class InvalidShapeError(InvalidInputError):
    """A shape cannot be made from these values (zero radius, flat point set, empty compound, ...)."""


class NoSurfaceError(InvalidShapeError):
    """A field has no surface where one was to be made: the place is all ground or all air. Of a tile that may well be."""


class UnboundedShapeError(ThudError, ValueError):
    """A quantity that an unbounded shape (a HalfSpace) does not have, such as a centroid, was asked for."""


class UnsupportedQueryError(ThudError, TypeError):
    """This combination of shapes, query and method does not exist; the message names what does."""


class StaleHandleError(ThudError, KeyError):
    """A handle whose body is no longer in the world, or that the world never gave out."""

    def __str__(self) -> str:
        # A KeyError would show the message in quotes.
        return str(self.args[0]) if self.args else ""


class FileFormatError(ThudError, ValueError):
    """A file is damaged, of an unknown version, too large, or not what it should be; the message says which and where."""


class MissingExtraError(ThudError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    @classmethod
    def for_package(cls, package: str, extra: str) -> MissingExtraError:
        """Error that says which `pip install` command brings `package`."""
        return cls(f'this needs the package {package}: pip install "thud[{extra}]"')
