"""The shape of a dialect: what a class, a method, an argument and a reply code are.

Dialect tables (`dialects/`) are written with the `*Spec` types; `compile_dialect` joins a base
table with vendor overlays into the `Dialect` that the codec walks. An overlay may add classes,
methods and reply codes, may say that a method also travels the other way, may rename a method and
may append optional arguments; anything else that differs from the base is a conflict and refused.

This module knows no octets (see `values`) and no particular protocol version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

# Who receives a method ("chassis" in the specifications).
SERVER = "server"
CLIENT = "client"
BOTH = "both"

# What a reply code does to the peer that gets it (0-9-1 §1.2).
SUCCESS = "success"
SOFT = "soft-error"
HARD = "hard-error"


class MethodSpec(NamedTuple):
    """One method as a line of a dialect table; arguments are `name:type` separated by blanks."""

    method_id: int
    name: str
    to: str
    arguments: str = ""
    responses: str = ""
    content: bool = False


class ClassSpec(NamedTuple):
    """One class of a dialect table; properties are those of its content header."""

    class_id: int
    name: str
    methods: tuple[MethodSpec, ...]
    properties: str = ""


class ReplyCode(NamedTuple):
    """A reply code and whether it closes a channel (soft) or the connection (hard)."""

    code: int
    name: str
    severity: str


class Overlay(NamedTuple):
    """What a vendor adds to a published dialect. Keys of the mappings are `class.method`."""

    name: str
    classes: tuple[ClassSpec, ...] = ()
    reply_codes: tuple[ReplyCode, ...] = ()
    renames: Mapping[str, str] = {}
    extends: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument or property: its name, wire type, and whether old peers leave it out."""

    name: str
    type: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Method:
    """One method, ready for the codec."""

    class_id: int
    method_id: int
    class_name: str
    name: str
    to: str
    arguments: tuple[Argument, ...]
    responses: tuple[str, ...]
    carries_content: bool

    @property
    def key(self) -> int:
        """Class and method id as the 32 bits that open a method payload."""
        return self.class_id << 16 | self.method_id

    @property
    def full_name(self) -> str:
        return f"{self.class_name}.{self.name}"

    @property
    def is_synchronous(self) -> bool:
        """True for a request that a reply must answer (0-9-1 §2.2.1)."""
        return bool(self.responses)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A protocol version with its overlays, indexed for the codec."""

    name: str
    overlays: tuple[str, ...]
    methods: Mapping[int, Method]
    by_name: Mapping[str, Method]
    class_names: Mapping[int, str]
    class_ids: Mapping[str, int]
    properties: Mapping[int, tuple[Argument, ...]]
    reply_codes: Mapping[int, ReplyCode] = field(repr=False)

    def method_name(self, class_id: int, method_id: int) -> str | None:
        method = self.methods.get(class_id << 16 | method_id)
        return method.full_name if method else None


class DialectConflictError(ValueError):
    """An overlay contradicts the table it is laid over."""


def parse_arguments(text: str, is_optional: bool = False) -> tuple[Argument, ...]:
    """`"queue:shortstr durable:bit"` → arguments, in order."""
    pairs = (item.split(":") for item in text.split())
    return tuple(Argument(name, wire_type, is_optional) for name, wire_type in pairs)


def compile_dialect(
    name: str,
    classes: Iterable[ClassSpec],
    reply_codes: Iterable[ReplyCode],
    overlays: Iterable[Overlay] = (),
) -> Dialect:
    """Join a base table and its overlays, refusing contradictions."""
    builder = _Builder()
    builder.add(classes, reply_codes)
    names = []
    for overlay in overlays:
        names.append(overlay.name)
        for old, new in overlay.renames.items():
            builder.rename(old, new)
        for method_name, arguments in overlay.extends.items():
            builder.extend(method_name, arguments)
        builder.add(overlay.classes, overlay.reply_codes)
    return builder.finish(name, tuple(names))


class _Builder:
    """Grows the indexes of one dialect and checks every addition against what is there."""

    def __init__(self) -> None:
        self.methods: dict[int, Method] = {}
        self.by_name: dict[str, Method] = {}
        self.class_names: dict[int, str] = {}
        self.properties: dict[int, tuple[Argument, ...]] = {}
        self.reply_codes: dict[int, ReplyCode] = {}

    def add(self, classes: Iterable[ClassSpec], reply_codes: Iterable[ReplyCode]) -> None:
        for spec in classes:
            known = self.class_names.setdefault(spec.class_id, spec.name)
            if known != spec.name:
                raise DialectConflictError(f"class {spec.class_id} is {known}, not {spec.name}")
            if spec.properties:
                properties = parse_arguments(spec.properties)
                if self.properties.setdefault(spec.class_id, properties) != properties:
                    raise DialectConflictError(f"{spec.name}: other content properties")
            for method in spec.methods:
                self._add_method(spec, method)
        for reply in reply_codes:
            if self.reply_codes.setdefault(reply.code, reply) != reply:
                raise DialectConflictError(f"reply code {reply.code}: {reply.name}")

    def _add_method(self, spec: ClassSpec, method: MethodSpec) -> None:
        new = Method(
            spec.class_id,
            method.method_id,
            spec.name,
            method.name,
            method.to,
            parse_arguments(method.arguments),
            tuple(method.responses.split()),
            method.content,
        )
        old = self.methods.get(new.key)
        if old is None and new.full_name not in self.by_name:
            self._store(new)
        elif old is None or replace(old, to=new.to) != new:
            raise DialectConflictError(f"{new.full_name} ({new.class_id}, {new.method_id})")
        elif old.to != new.to:
            self._store(replace(old, to=BOTH))

    def _store(self, method: Method) -> None:
        self.methods[method.key] = method
        self.by_name[method.full_name] = method

    def rename(self, full_name: str, name: str) -> None:
        method = self.by_name.pop(full_name)
        self._store(replace(method, name=name))

    def extend(self, full_name: str, arguments: str) -> None:
        method = self.by_name[full_name]
        more = parse_arguments(arguments, is_optional=True)
        self._store(replace(method, arguments=method.arguments + more))

    def finish(self, name: str, overlays: tuple[str, ...]) -> Dialect:
        class_ids = {class_name: number for number, class_name in self.class_names.items()}
        return Dialect(
            name,
            overlays,
            self.methods,
            self.by_name,
            self.class_names,
            class_ids,
            self.properties,
            self.reply_codes,
        )
