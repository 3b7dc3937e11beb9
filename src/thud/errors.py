"""Every error thud raises. Each is a `ThudError` and, where one fits, also the built-in a caller would expect.

No query raises for "no hit": that is data (`inf`, `-1`). These errors speak of input that cannot be answered and
name the argument, the row and what was expected.
"""

from __future__ import annotations

__all__ = [
    "ClosedTerrainError",
    "DamagedStoreError",
    "DiskFullError",
    "FileFormatError",
    "ForeignStoreError",
    "InvalidInputError",
    "InvalidPoseError",
    "InvalidShapeError",
    "MapFullError",
    "MissingExtraError",
    "MissingTileError",
    "NoSurfaceError",
    "SceneFileError",
    "SceneLimitError",
    "SceneReaderError",
    "SceneReferenceError",
    "StaleHandleError",
    "StoreError",
    "StoreInUseError",
    "StoreVersionError",
    "ThudError",
    "TruncatedStoreError",
    "UnboundedShapeError",
    "UnsupportedQueryError",
    "WorkerError",
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


class SceneFileError(FileFormatError):
    """A file of a scene cannot be read: damaged, empty, of another format than its name says; with file and place."""


class SceneLimitError(SceneFileError):
    """A file of a scene asks for more than `SceneLimits` allows: bytes, time, triangles, depth; the message names which."""


class SceneReferenceError(SceneFileError):
    """A file of a scene refers to something outside its folder, to a web address or to a file that is not there."""


class SceneReaderError(SceneFileError):
    """The process that read a file of a scene crashed or broke its rules. Nothing of it is believed."""


class DamagedStoreError(FileFormatError):
    """A store of tiles, or one of its tiles, is not what was written: bits flipped, tiles exchanged, numbers out of range."""


class TruncatedStoreError(DamagedStoreError):
    """The file of a store ends before the pages that it says it has."""


class ForeignStoreError(FileFormatError):
    """A file or folder that is no store of tiles."""


class StoreVersionError(FileFormatError):
    """A store or tile of a version that this thud does not read."""


class StoreError(ThudError, OSError):
    """The system does not let a store of tiles be read or written; the message says what it wants."""


class StoreInUseError(StoreError):
    """The store cannot be opened this way while this process has it open in another."""


class DiskFullError(StoreError):
    """No room is left on the disk. What was committed is there; the build goes on from it when there is room."""


class MapFullError(StoreError):
    """The store has reached the map size that it was opened with. What was committed is there."""


class ClosedTerrainError(ThudError, ValueError):
    """A terrain, or a tile of it, was asked after its close, or in another process than it was opened in."""


class MissingTileError(ThudError, KeyError):
    """The store has no tile of this key."""

    def __str__(self) -> str:
        # A KeyError would show the message in quotes.
        return str(self.args[0]) if self.args else ""


class WorkerError(ThudError, RuntimeError):
    """Processes that were to do a part of the work ended again and again, or cannot be reached. What was committed is there."""


class MissingExtraError(ThudError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    @classmethod
    def for_package(cls, package: str, extra: str) -> MissingExtraError:
        """Error that says which `pip install` command brings `package`."""
        return cls(f'this needs the package {package}: pip install "thud[{extra}]"')
