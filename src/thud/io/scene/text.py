"""Text from files that need not be trusted."""

from __future__ import annotations

import unicodedata
from typing import Any


def printable(value: Any, length: int) -> str:
    """Text of at most `length` characters without controls, line ends, surrogates or marks that turn the direction of text."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    kept = [c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else " " for c in text[: 4 * length]]
    text = "".join(kept).strip()
    return text if len(text) <= length else text[: length - 1] + "\u2026"
