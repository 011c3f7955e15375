"""What a person touches: the command line and the reports."""

from __future__ import annotations

__version__ = "0.1.0"
