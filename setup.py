"""Builds the hot path: every module of ``dissectors`` that has a ``.pxd`` beside it.

The extensions are optional. Without a C compiler, or with AMQPSCOPE_PURE=1, the same sources
run as plain Python with the same results; ``amqpscope --version`` says which backend is active.
"""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
WORKERS = os.cpu_count() or 1
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": True,  # mutated input must raise, never read past a buffer
    "initializedcheck": False,
}
# A module is entered by its one exported function, so that calls inside it need no detour and can
# be inlined. Debug symbols are four fifths of a file; warnings about generated C help nobody.
COMPILER_FLAGS = ["-O3", "-g0", "-fno-semantic-interposition", "-fvisibility=hidden", "-w"]
# Modules that are loops over columns, of few instructions each.
LOOPS = ("dissectors/parquet/", "dissectors/core/columns.py", "dissectors/core/counting.py")
LOOP_FLAGS = ["-funroll-loops"]


def compiled_sources() -> list[Path]:
    found = (p.with_suffix(".py") for p in (ROOT / "dissectors").rglob("*.pxd"))
    return sorted(p.relative_to(ROOT) for p in found if p.exists())


def extensions() -> list[Extension]:
    if os.environ.get("AMQPSCOPE_PURE") == "1":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    wanted = [
        Extension(".".join(path.with_suffix("").parts), [str(path)], optional=True)
        for path in compiled_sources()
    ]
    built = cythonize(
        wanted,
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        show_all_warnings=False,
        nthreads=WORKERS,
        quiet=True,
    )
    for extension in built:
        extension.optional = True  # cythonize() drops it
        path = extension.name.replace(".", "/") + ".py"
        extension.extra_compile_args = COMPILER_FLAGS + LOOP_FLAGS * path.startswith(LOOPS)
    return built


class Build(build_ext):
    """The C compiler on all cores; ``--parallel`` is not within pip's reach. All modules or none:
    a compiled one cannot use those that it is compiled against as plain Python."""

    has_failed = False

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or WORKERS

    def build_extension(self, extension: Extension) -> None:
        try:
            super().build_extension(extension)
        except Exception:
            self.has_failed = True
            raise

    def run(self) -> None:
        super().run()
        if self.has_failed:
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)


if __name__ == "__main__":  # Cython's workers import this file again
    setup(ext_modules=extensions(), cmdclass={"build_ext": Build})
