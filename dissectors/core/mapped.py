"""Memory straight from the system: zeros, none of it in use before it is touched."""

from __future__ import annotations

import mmap


def map_octets(size: int, has_huge_pages: bool = False) -> memoryview:
    """So many octets, one at least. Huge pages are worth it where nearly all of them will be used,
    in an order that would make the processor look up many small ones."""
    mapped = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if has_huge_pages and hasattr(mmap, "MADV_HUGEPAGE"):
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(mapped)
