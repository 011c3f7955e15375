"""The arrows of the design, read from the imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("amqpscope", "dissectors", "replay", "spark_etl")
# room → rooms of ours that it may import
ARROWS = {
    "dissectors": {"dissectors"},
    "spark_etl": {"spark_etl", "dissectors"},
    "replay": {"replay", "dissectors"},
    "amqpscope": set(ROOMS),
}
# What must not be loaded before a command needs it: `amqpscope --help` answers at once.
HEAVY = {"pyarrow", "numpy", "pandas", "pyspark", "matplotlib", "pyshark", "dpkt"}
SOURCES = sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))


def imports(path: Path, only_top: bool = False) -> set[str]:
    """Names of the modules that a file imports, anywhere in it or only at its top level."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body if only_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT).parent.parts
            above = package[: len(package) - node.level + 1] if node.level else ()
            found.add(".".join([*above, *([node.module] if node.module else [])]))
    return found


def roots(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def users_of(package: str) -> list[str]:
    return [str(p.relative_to(ROOT)) for p in SOURCES if package in roots(imports(p))]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_along_the_arrows(room: str) -> None:
    wrong = {
        str(path.relative_to(ROOT)): roots(imports(path)) & set(ROOMS) - ARROWS[room]
        for path in (ROOT / room).rglob("*.py")
    }
    assert not {path: found for path, found in wrong.items() if found}


def test_declarations_for_the_compiler_follow_the_arrows_too() -> None:
    for path in (ROOT / "dissectors").rglob("*.pxd"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "cimport" in line and line.startswith("from "):
                source = line.split()[1]
                assert source.startswith(("dissectors.", "libc.", "cpython")), f"{path}: {line}"


def test_only_spark_etl_touches_pyspark() -> None:
    assert [p for p in users_of("pyspark") if not p.startswith("spark_etl/")] == []


def test_at_most_one_file_touches_tshark() -> None:
    by_import = set(users_of("pyshark"))
    by_call = {
        str(p.relative_to(ROOT))
        for p in SOURCES
        for node in ast.walk(ast.parse(p.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in ("tshark", "/usr/bin/tshark")
    }
    assert len(by_import | by_call) <= 1


def test_only_one_file_of_replay_opens_sockets() -> None:
    """The module also holds inet_ntop and the like, which are no connections."""
    opening = {"socket", "create_connection", "create_server"}
    users = [
        str(p.relative_to(ROOT))
        for p in SOURCES
        for node in ast.walk(ast.parse(p.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "socket"
        and node.attr in opening
    ]
    assert [p for p in users if not p.startswith("replay/")] == []
    assert len(set(users)) <= 1


def test_every_pxd_has_its_source() -> None:
    lonely = [p for p in (ROOT / "dissectors").rglob("*.pxd") if not p.with_suffix(".py").exists()]
    assert lonely == []


def test_compiled_sources_keep_their_annotations_for_the_compiler() -> None:
    for pxd in (ROOT / "dissectors").rglob("*.pxd"):
        assert "__future__" not in imports(pxd.with_suffix(".py")), pxd


def test_the_command_line_loads_nothing_heavy_by_itself() -> None:
    for path in (ROOT / "amqpscope" / "cli").glob("*.py"):
        assert not roots(imports(path, only_top=True)) & (HEAVY | {"dissectors"}), path


def test_packages_and_modules_say_why_they_exist() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
