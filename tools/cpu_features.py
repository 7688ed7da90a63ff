"""Of the CPU features named, those that NumPy can do without here: NPY_DISABLE_CPU_FEATURES refuses others."""

from __future__ import annotations

import sys


def known(names: list[str]) -> list[str]:
    """The names that NumPy dispatches on here."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in names if name in __cpu_dispatch__ and __cpu_features__.get(name)]


if __name__ == "__main__":
    print(" ".join(known(sys.argv[1:])))
