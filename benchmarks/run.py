"""Ours and the peers on seeded data, taking turns: `make bench`, or with names to run some of it.

    python benchmarks/run.py                 every row of the table of speed, then every section
    python benchmarks/run.py isomap tall     these rows and sections; the page keeps the others
    python benchmarks/run.py defaults        every class with its defaults on three shapes of table (an hour)
    python benchmarks/run.py defaults:PCA    one class; the table keeps the others
    python benchmarks/run.py page            write the page again from results.json

Each row runs in a process of its own with its number of BLAS threads. `results.json` keeps what was measured, when,
at which commit and load; `results.md` is written from it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from typing import Any

import defaults
from clock import commit, machine, table, word
from speed import ROOT, ROWS, Row

KEPT, PAGE = ROOT / "benchmarks" / "results.json", ROOT / "benchmarks" / "results.md"
PEERS = ("scikit-learn", "ugtm", "GPy", "statsmodels", "ppca-rs", "vbpca-py")
MOST_SECONDS = 3600
STATE = ("turns", "load", "when")
QUIET = 2.5  # load beyond which the clock does not tell how two threads compare
INTRO = """# Benchmarks

Every contestant takes its turn on the same seeded table in one process, with a rest in between; the best of
several turns counts. `make bench` writes this page; `python benchmarks/run.py ROW` runs one row and keeps the others.
On one thread the seconds are the processor's, on two the clock's. Loads are those before the row: on this machine of
two cores a load beyond 2 means that others worked too, and that only ratios count. Rows on two threads are not judged
then: each of their seconds is mostly waiting, and a ratio of waits says nothing of a quiet machine.
"""
SECTIONS = """## In more detail

A ratio above 1 means slower than lowdim. Each section says when and at which load it was measured.
"""


def section(name: str) -> str:
    """The text of one section, measured now."""
    import bayesian
    import factor
    import kmeans
    import pca
    import ppca
    import quick
    import stream

    cases = {
        "tall": pca.tall,
        "wide": pca.wide,
        "large": pca.large,
        "sparse": pca.stored,
        "gaps": ppca.gaps,
        "passes": ppca.passes,
        "factor": factor.ml,
        "kmeans": kmeans.starts,
        "heywood": factor.near_heywood,
        "oil": ppca.oil_map,
        "transform": stream.transform,
        "text": stream.text,
        "prompt": quick.start,
        "bayesian": bayesian.gaps,
        "intervals": bayesian.intervals,
    }
    return cases[name]()


CASES = ("tall", "wide", "large", "sparse", "gaps", "passes", "factor", "heywood", "oil", "transform")
CASES += ("text", "prompt", "bayesian", "intervals", "kmeans")


def measure(name: str) -> dict[str, Any]:
    """One row, measured in a process of its own."""
    threads = str(ROWS[name].threads)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    load = os.getloadavg()[0]
    command = [sys.executable, str(ROOT / "benchmarks" / "speed.py"), name]
    told = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False, timeout=MOST_SECONDS)
    found = json.loads(told.stdout.splitlines()[-1]) if told.returncode == 0 else {"failed": told.returncode}
    return {**found, **when(load)}


def when(load: float) -> dict[str, Any]:
    return {"date": date.today().isoformat(), "commit": commit(), "load": round(load, 1)}


# the page --------------------------------------------------------------------------------------------------------
def write_page(kept: dict[str, Any]) -> None:
    where = machine("make bench", PEERS).split("\n")
    parts = [
        INTRO,
        "\n".join(line for line in where if not line.startswith(("- load", "- date", "- commit", "- command"))),
    ]
    parts += ["## Speed", speed_table(kept["rows"])]
    if kept["defaults"]:
        parts += [defaults.page(kept["defaults"])]
    parts += [SECTIONS]
    for each in kept["sections"].values():
        parts += [each["text"], f"({each['date']}, commit {each['commit']}, load {each['load']})"]
    PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n")


def speed_table(rows: dict[str, Any]) -> str:
    head = ("what", "size", "threads", "ours, s", "peer", "peer's, s", "ours / peer", "asked, at most", "met", *STATE)
    return table(head, [line(row, rows.get(name)) for name, row in ROWS.items()]) + "\n\n" + notes(rows)


def line(row: Row, found: dict[str, Any] | None) -> tuple[Any, ...]:
    if found is None or "failed" in found:
        state = "not run" if found is None else "failed"
        return (row.title, row.size, row.threads, "-", row.peer, "-", "-", asked(row), state, "-", "-", "-")
    mine, peer = found["ours"], found["peer"]
    ratio = mine if peer is None else mine / peer
    met = "-" if row.asked is None else "yes" if ratio <= row.asked else "**no**"
    if row.threads > 1 and found["load"] > QUIET:
        met = "not judged"
    seen = "-" if peer is None else f"{ratio:.3g}" if ratio < float("inf") else "never there"
    turns = found["rounds"], found["load"], f"{found['date']}, {found['commit']}"
    return (
        row.title,
        row.size,
        row.threads,
        mine,
        row.peer or "-",
        "-" if peer is None else peer,
        seen,
        asked(row),
        met,
        *turns,
    )


def asked(row: Row) -> str:
    if row.asked is None:
        return "-"
    if not row.peer:
        return f"{word(row.asked)} s"
    return f"{row.asked:.2g}" if row.asked >= 1.0 else f"{row.asked:.2g} ({1 / row.asked:.3g} times)"


def notes(rows: dict[str, Any]) -> str:
    """What else was seen, and why a row falls short."""
    lines = []
    for name, row in ROWS.items():
        told = [part for part in (rows.get(name, {}).get("note"), WHY.get(name)) if part]
        if told:
            lines.append(f"- {row.title}, {row.size}, {row.threads} thread{'s' * (row.threads > 1)}: {'. '.join(told)}")
    return "\n".join(lines)


WHY = {
    "pca-1": "1.26 on 2026-11-15 (below)",
    "kmeans-20k-2": "so short a pass is walked on one thread: two would wait for each other longer than they work",
    "ica": "0.96 to 1.04 from run to run: the iteration is scikit-learn's own",
    "kernel-pca-2": "ours takes as long on two threads as on one",
    "isomap-landmarks": "SciPy's walks from 100 rows, Dijkstra's, take 28 ms even in one call; with rows, edges or "
    "landmarks in another order 27 at best",
    "laplacian": "the search for neighbours takes 3.6 ms, 21 solutions 2.3, the factor of the band 1.1",
    "kernel-pca-1": "34 products with half of the kernel are three fifths of the time",
    "gtm-6": "which optimum is met is chance: ours ends at -3241.6, with extrapolated or plain steps and whatever the "
    "first noise; init='jitter' with seeds 0 to 3 ends at -3187.8, -3488.7, -3085.5 and -2715.5, the last 409 nats "
    "above ugtm's; several starts take several times as long",
    "gtm-8": "34 passes of 2.9 ms, more than half of it the likelihoods of 1,000 rows at 400 nodes",
    "ratings-100m": "sweeps of 52, 30 and 39 s by the clock at a load of 6, where two threads mostly wait",
}


def main(names: list[str]) -> None:
    kept = json.loads(KEPT.read_text())
    for name in names or (*ROWS, *CASES):
        load = os.getloadavg()[0]
        if name in ROWS:
            kept["rows"][name] = measure(name)
            print(name, kept["rows"][name], flush=True)
        elif name in CASES:
            kept["sections"][name] = {"text": section(name), **when(load)}
            print("\n" + kept["sections"][name]["text"], flush=True)
        elif name.split(":")[0] == "defaults":
            defaults.measure_all(kept["defaults"], name.split(":")[1:])
        elif name != "page":
            raise SystemExit(f"no row or section {name}: {' '.join((*ROWS, *CASES, 'defaults', 'page'))}")
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    write_page(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
