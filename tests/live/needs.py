"""What the live tests need from the machine: said how to get it, and insisted upon in CI."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

APT = "sudo apt-get install --no-install-recommends"
# Daemons are not on everybody's PATH.
SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def unavailable(reason: str) -> NoReturn:
    """A skipped live test in CI would be a test that cannot fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def program(name: str, package: str, *, path: str = SYSTEM_PATH) -> str:
    """Where a program is."""
    found = shutil.which(name, path=path)
    if found is None:
        unavailable(f"{name} is missing: {APT} {package}")
    return found
