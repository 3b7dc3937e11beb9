"""Text from files made harmless: in a terminal, in a spreadsheet, in XML."""

from __future__ import annotations

import unicodedata

#: Characters that turn the direction of what follows, or hide: a name could look like another.
_HIDDEN = {chr(code) for code in (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF)}

#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def plain(text: str) -> str:
    """Without control characters, line ends and what hides or turns text: each is shown as its code."""
    return "".join(
        f"\\u{ord(char):04x}" if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _HIDDEN else char
        for char in text
    )


def cell(text: str) -> str:
    """For a spreadsheet: what could be a formula begins with an apostrophe."""
    safe = plain(text)
    return f"'{safe}" if text.startswith(_FORMULA) or safe.lstrip().startswith(_FORMULA) else safe


def xml(text: str) -> str:
    """Only characters that XML 1.0 has; its writer escapes `<`, `&` and quotes."""
    return "".join(
        char if char in "\t\n" or "\x20" <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff" else "\ufffd"
        for char in text
    )


def shortened(text: str, most: int) -> str:
    """The end of a path says more than its beginning."""
    return text if len(text) <= most else "…" + text[-(most - 1) :]
