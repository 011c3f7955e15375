"""Shared by all tests: the backend asked for, and fewer, repeatable Hypothesis examples."""

from __future__ import annotations

import sys
from pathlib import Path

# Test modules are imported by path; the helpers beside them (tests.samples) by name.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from amqpscope import backend

backend.choose()
