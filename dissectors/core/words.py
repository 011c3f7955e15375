"""The vocabulary: short strings of our own that tables hold as codes.

Only strings out of our own data tables may enter (frame names, outcomes, problem codes), never
strings off the wire: that keeps the vocabulary, which lives as long as the process, bounded.
"""

from __future__ import annotations

_codes: dict[str, int] = {}
_words: list[str] = []


def word(text: str) -> int:
    """The code of a word of our vocabulary, given on first use."""
    code = _codes.get(text)
    if code is None:
        code = _codes[text] = len(_words)
        _words.append(text)
    return code


def spelling(code: int) -> str:
    return _words[code]


def vocabulary() -> list[str]:
    """All words so far, by code."""
    return _words
