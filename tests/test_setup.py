"""The build of the extensions: all of them, or none."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from setuptools import Distribution, Extension

from tests.test_c_compiler import HAS_ALL

ROOT = Path(__file__).resolve().parent.parent
MODULE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "NAME", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_NAME(void) { return PyModule_Create(&definition); }
"""


def built(folder: Path, names: list[str]) -> set[str]:
    """What is there after a build in place."""
    sources = [Extension(name, [str(folder / f"{name}.c")], optional=True) for name in names]
    distribution = Distribution({"name": "trial", "ext_modules": sources})
    command = runpy.run_path(str(ROOT / "setup.py"))["Build"](distribution)
    command.inplace = True
    command.build_temp = str(folder / "temp")
    command.build_lib = str(folder / "lib")
    command.ensure_finalized()
    command.run()
    return {path.name.partition(".")[0] for path in folder.glob("*.so")}


@pytest.mark.skipif(not HAS_ALL, reason="nothing can be built here")
def test_a_module_that_cannot_be_built_takes_the_others_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CC", raising=False)
    for name in ("first", "second"):
        (tmp_path / f"{name}.c").write_text(MODULE.replace("NAME", name))
    assert built(tmp_path, ["first", "second"]) == {"first", "second"}
    (tmp_path / "second.c").write_text("#error no\n")
    assert built(tmp_path, ["first", "second"]) == set()
