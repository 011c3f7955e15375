"""Frames of the draft from plain Python, beside the tables that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..frames import AMQP_FRAME, SASL_FRAME, encode_frame
from ..types import Described
from .vocabulary import DRAFT, DraftVocabulary


def make(composite: str, /, vocabulary: DraftVocabulary = DRAFT, **fields: Any) -> Described:
    """A composite by its name; fields are spelt with underscores."""
    return vocabulary.encode(
        composite, {key.replace("_", "-"): data for key, data in fields.items()}
    )


def encode_draft_frame(
    name: str,
    fields: Mapping[str, Any] | None = None,
    channel: int = 0,
    vocabulary: DraftVocabulary = DRAFT,
) -> bytes:
    """A whole frame of the AMQP or the SASL layer."""
    is_sasl = "sasl-frame" in vocabulary.by_name[name].provides
    body = vocabulary.types.encode(vocabulary.encode(name, fields or {}))
    return encode_frame(body, channel, SASL_FRAME if is_sasl else AMQP_FRAME)
