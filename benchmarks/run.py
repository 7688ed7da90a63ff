"""Ours and the peers in one run on seeded data, taking turns: `make bench`, or with names of cases to narrow it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the oil map is the tests' own

import bayesian  # noqa: E402
import factor  # noqa: E402
import pca  # noqa: E402
import ppca  # noqa: E402
import quick  # noqa: E402
import stream  # noqa: E402
from clock import machine  # noqa: E402

CASES = {
    "tall": pca.tall,
    "wide": pca.wide,
    "large": pca.large,
    "sparse": pca.stored,
    "gaps": ppca.gaps,
    "passes": ppca.passes,
    "factor": factor.ml,
    "heywood": factor.near_heywood,
    "oil": ppca.oil_map,
    "transform": stream.transform,
    "text": stream.text,
    "prompt": quick.start,
    "bayesian": bayesian.gaps,
    "intervals": bayesian.intervals,
}
INTRO = """# Benchmarks

Every contestant takes its turn on the same seeded table in one process, with a rest in between; the best of
several runs counts. A ratio above 1 means slower than lowdim.
"""


def main(names: list[str]) -> None:
    where = machine("make bench" if not names else f"python benchmarks/run.py {' '.join(names)}")
    print(where, flush=True)
    parts = []
    for name in names or CASES:
        parts.append(CASES[name]())
        print("\n" + parts[-1], flush=True)
    if not names:
        (ROOT / "benchmarks" / "results.md").write_text("\n\n".join([INTRO + "\n" + where, *parts]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
