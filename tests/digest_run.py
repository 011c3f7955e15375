"""Digests of all tables of all samples, as JSON: ``python -m tests.digest_run``.

For a process of its own, so that either backend can be chosen for it.
"""

from __future__ import annotations

import json

import xxhash

from dissectors import backend


def digests() -> dict[str, dict[str, str]]:
    """Sample → table → digest of its rows, order included."""
    from tests.samples import SAMPLES, manifest
    from tests.tables import dissect

    found = {}
    for entry in manifest():
        path = SAMPLES / entry["file"]
        keylog = path.with_suffix(".keylog")
        tables = dissect(str(path), keylog=str(keylog) if keylog.exists() else None)
        found[entry["file"]] = {
            name: xxhash.xxh3_64_hexdigest(repr(rows).encode()) for name, rows in tables.items()
        }
    return found


if __name__ == "__main__":
    print(json.dumps({"backend": backend.describe(), "digests": digests()}))
