"""``--where``: conditions on the columns of a table, parsed here and computed by Arrow.

    condition  = condition "or" condition | condition "and" condition | "not" condition
               | "(" condition ")" | predicate
    predicate  = column ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") (value | column)
               | column ["not"] "in" "(" value {"," value} ")"
               | column ["not"] "like" text
               | column "is" ["not"] "null"
               | column                                              of true and false
    value      = number | text | "true" | "false"

As in SQL: "and" binds closer than "or", a comparison with null is neither true nor false, and in
a pattern % stands for any characters and _ for one. Texts are in single or double quotes, doubled
inside. It knows columns and their kinds, not what they mean; nothing of it is ever executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from dissectors.tables import Column, Table

Condition = Callable[[pa.RecordBatch], pa.Array]
"""One true, false or null for each row."""

# Deeper than this is no condition of a person.
MAX_DEPTH = 50
_INT64 = range(-(1 << 63), 1 << 63)
# From the loosest to the closest.
_JOINTS = (("or", pc.or_kleene), ("and", pc.and_kleene))
_COMPARISONS = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_EQUALITIES = ("=", "==", "!=", "<>")
_KEYWORDS = frozenset({"and", "or", "not", "in", "like", "is", "null", "true", "false"})
# Whole numbers and fractions do not meet: times in ns have more digits than a fraction can keep.
_WHOLE, _FRACTION = "a whole number", "a number with a fraction"
_TEXT, _TRUTH, _OCTETS = "a text", "true or false", "octets"
_NATURES = {
    **dict.fromkeys(("int64", "int32"), _WHOLE),
    "ratio": _FRACTION,
    **dict.fromkeys(("word", "text", "string", "hash"), _TEXT),
    "bool": _TRUTH,
    "bytes": _OCTETS,
}
_TOKEN = re.compile(
    r"""(?P<number>-?\d+(?:\.\d+)?(?![\w.]))
      | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><=|>=|!=|<>|==|[=<>(),])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")


class WhereError(ValueError):
    """A condition that cannot be used; its text is the one line to show."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    # what stood there
    spelling: str


_END = Token("end", "", "the end")


def parse_where(text: str, table: Table) -> Condition:
    """The condition on rows of that table; raises WhereError."""
    return _Parser(text, table).condition()


def no_column(name: str, table: Table) -> str:
    return f"{table.name} has no column {name!r}; it has {', '.join(table.names())}"


def _tokens(text: str) -> list[Token]:
    found = []
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise WhereError(f"--where: {text[at:]!r} cannot be read")
        kind, spelling = str(match.lastgroup), match[0]
        if kind == "text":
            quote = spelling[0]
            found.append(Token(kind, spelling[1:-1].replace(quote * 2, quote), spelling))
        elif kind == "word" and spelling.lower() in _KEYWORDS:
            found.append(Token("keyword", spelling.lower(), spelling))
        else:
            found.append(Token(kind, spelling, spelling))
        at = _SPACE.match(text, match.end()).end()  # type: ignore[union-attr]
    return [*found, _END]


class _Parser:
    """Recursive descent, one method per line of the grammar."""

    def __init__(self, text: str, table: Table) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._table = table
        self._depth = 0

    def condition(self) -> Condition:
        found = self._joined(0)
        if self._next is not _END:
            self._expected("and, or, or the end")
        return found

    # -- the grammar ----------------------------------------------------------------------

    def _joined(self, level: int) -> Condition:
        if level == len(_JOINTS):
            return self._single()
        word, function = _JOINTS[level]
        parts = [self._joined(level + 1)]
        while self._takes(word):
            parts.append(self._joined(level + 1))
        return parts[0] if len(parts) == 1 else lambda batch: _folded(function, parts, batch)

    def _single(self) -> Condition:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise WhereError(f"--where: more than {MAX_DEPTH} conditions inside each other")
        if self._takes("not"):
            found = _negated(self._single())
        elif self._takes("("):
            found = self._joined(0)
            self._must_take(")")
        else:
            found = self._predicate()
        self._depth -= 1
        return found

    def _predicate(self) -> Condition:
        if self._next.kind != "word":
            self._expected("a column")
        column = self._column()
        if self._next.text in _COMPARISONS and self._next.kind == "sign":
            return self._comparison(column)
        if self._takes("is"):
            return self._is_null(column)
        is_negated = self._takes("not")
        for word, predicate in (("in", self._in), ("like", self._like)):
            if self._takes(word):
                found = predicate(column)
                return _negated(found) if is_negated else found
        if is_negated:
            self._expected("in or like")
        if _NATURES[column.kind] != _TRUTH:
            self._expected(f"a comparison with {column.name}")
        return lambda batch: _values(batch, column)

    def _comparison(self, column: Column) -> Condition:
        sign = self._take().text
        compare = _COMPARISONS[sign]
        nature = _NATURES[column.kind]
        if nature == _OCTETS or (nature == _TRUTH and sign not in _EQUALITIES):
            raise WhereError(f"--where: {column.name} is {nature}: it has no {sign}")
        if self._next.kind == "word":
            other = self._column()
            if _NATURES[other.kind] != nature:
                self._mismatch(column, f"{other.name}, which is {_NATURES[other.kind]}")
            return lambda batch: compare(_values(batch, column), _values(batch, other))
        scalar = self._value(column)
        return lambda batch: compare(_values(batch, column), scalar)

    def _in(self, column: Column) -> Condition:
        self._must_take("(")
        scalars = [self._value(column)]
        while self._takes(","):
            scalars.append(self._value(column))
        self._must_take(")")
        # One comparison each, so that null stays neither true nor false.
        parts: list[Condition] = [
            lambda batch, scalar=scalar: pc.equal(_values(batch, column), scalar)  # type: ignore[misc]
            for scalar in scalars
        ]
        return lambda batch: _folded(pc.or_kleene, parts, batch)

    def _like(self, column: Column) -> Condition:
        if _NATURES[column.kind] != _TEXT:
            raise WhereError(
                f"--where: {column.name} is {_NATURES[column.kind]}: like is for texts"
            )
        if self._next.kind != "text":
            self._expected("a pattern in quotes")
        # Arrow's patterns have an escape character, ours have not.
        pattern = self._take().text.replace("\\", "\\\\")
        return lambda batch: pc.match_like(_values(batch, column), pattern)

    def _is_null(self, column: Column) -> Condition:
        is_negated = self._takes("not")
        self._must_take("null")
        if is_negated:
            return lambda batch: _values(batch, column).is_valid()
        return lambda batch: _values(batch, column).is_null()

    def _column(self) -> Column:
        name = self._take().text
        found = next((c for c in self._table.columns if c.name == name), None)
        if found is None:
            raise WhereError(f"--where: {no_column(name, self._table)}")
        return found

    def _value(self, column: Column) -> pa.Scalar:
        token, nature = self._next, _NATURES[column.kind]
        found = _nature_of(token)
        if found is None:
            self._expected(f"{nature} for {column.name}")
        self._take()
        if found != nature and (found, nature) != (_WHOLE, _FRACTION):
            self._mismatch(column, token.spelling)
        if nature == _WHOLE and int(token.text) not in _INT64:
            raise WhereError(f"--where: {token.text} is beyond 64 bits")
        return _SCALARS[nature](token.text)

    # -- tokens ---------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _takes(self, word: str) -> bool:
        """The next token, if it is this keyword or sign."""
        is_next = self._next.kind in ("keyword", "sign") and self._next.text == word
        self._at += is_next
        return is_next

    def _must_take(self, word: str) -> None:
        if not self._takes(word):
            self._expected(word)

    def _expected(self, what: str) -> NoReturn:
        place = f"after {self._tokens[self._at - 1].spelling}" if self._at else "at the beginning"
        raise WhereError(
            f"--where: expected {what} {place}, found {self._next.spelling}"
            " (allowed: = != < <= > >= in like, is null, and or not, parentheses)"
        )

    def _mismatch(self, column: Column, other: str) -> NoReturn:
        raise WhereError(
            f"--where: {column.name} is {_NATURES[column.kind]} and cannot be compared with {other}"
        )


def _nature_of(token: Token) -> str | None:
    """Of a value; None if it is none."""
    if token.kind == "number":
        return _FRACTION if "." in token.text else _WHOLE
    if token.kind == "keyword":
        return _TRUTH if token.text in ("true", "false") else None
    return _TEXT if token.kind == "text" else None


_SCALARS: dict[str, Callable[[str], pa.Scalar]] = {
    _WHOLE: lambda text: pa.scalar(int(text), pa.int64()),
    _FRACTION: lambda text: pa.scalar(float(text)),
    _TEXT: pa.scalar,
    _TRUTH: lambda text: pa.scalar(text == "true"),
}


def _values(batch: pa.RecordBatch, column: Column) -> pa.Array:
    found = batch.column(column.name)
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def _negated(condition: Condition) -> Condition:
    return lambda batch: pc.invert(condition(batch))


def _folded(
    function: Callable[[pa.Array, pa.Array], pa.Array],
    parts: list[Condition],
    batch: pa.RecordBatch,
) -> pa.Array:
    found = parts[0](batch)
    for part in parts[1:]:
        found = function(found, part(batch))
    return found
