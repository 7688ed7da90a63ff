"""The main job on tables nobody cleaned: what it says of each, beside what a good answer says.

    OPENBLAS_NUM_THREADS=1 python benchmarks/real_tables.py            writes the first table of real_tables.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/real_tables.py NAME ...   prints these tables only

Each table is read and analysed with no option at all in a process of its own; seconds are the processor's, the start of
Python and all imports included, to the sentences and to the written report.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("LOWDIM_DATA", HERE / "../../shared/data")).resolve()
REAL = {
    "penguins": "2 worth having; species, island, sex are labels",
    "mpg": "2; model year, cylinders and origin are codes",
    "titanic": "survived, pclass are codes; the same facts twice are named",
    "planets": "logarithms; year is a label",
    "diamonds": "1 to 3; the impossible cells are the odd ones",
    "bfi": "5 or 6 traits; items are ordinal",
    "biopsy": "1 (malignancy); ID set aside",
    "chemproc": "4 to 6; the faulty cells named",
    "cereal": "2 to 4",
    "country": "logarithms; capital and independence_year are codes",
    "airquality": "1 or 2; Month and Day set aside",
    "swiss": "2 or 3",
    "usarrests": "2",
    "mtcars": "2",
    "hfi": "sums and means of other columns named; seconds",
    "votes": "2 or 3; gaps not at random",
    "vnf": "a questionnaire",
    "snorena": "sex, snore and tobacco are labels",
    "TitanicNA": "four codes of one fact each",
    "colic": "codes recognised; hospital number set aside",
}
MORE = {
    "uci/breast_cancer_wisconsin_original": "1 (malignancy); the sample number set aside",
    "uci/ecoli": "2 or 3; the site is a label, two columns are nearly constant",
    "uci/glass": "3 to 5; the type of glass is a label",
    "uci/house_votes_1984": "1 or 2 of yes/no columns; the party is a label",
    "uci/soybean": "codes; the disease is a label",
    "missing_small/sleep": "2; body and brain weight in logarithms",
    "missing_small/ozone_la": "2 or 3; month and days set aside",
    "missmda/ozone_rennes": "2; wind direction and rain are labels",
    "factor_analysis/holzinger_swineford_1939": "3 to 5 abilities; id, school, grade and month of birth are codes",
    "metabolite/metabolite_incomplete": "several; 154 metabolites by 52 samples",
}

WHY = dict(line.split(": ", 1) for line in (HERE / "real_tables_why.txt").read_text(encoding="utf-8").splitlines())


def measure(path: str) -> dict[str, object]:
    """What the main job says of one table; run in a process of its own."""
    import warnings

    import lowdim as ld

    warnings.simplefilter("ignore")
    table = ld.read(path)
    analysis = ld.analyse(table)
    sentences = analysis.sentences
    to_sentences = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        page = analysis.report(Path(folder) / "report.html")
        size = Path(page).stat().st_size
    roles: dict[str, list[str]] = {}
    for column in table.columns:
        roles.setdefault(column.role, []).append(column.name)
    return {
        "n": table.n,
        "d": table.d,
        "roles": roles,
        "needed": analysis.jury.needed,
        "detectable": analysis.jury.detectable,
        "map": analysis.dims,
        "odd": int(analysis.odd.odd.sum()),
        "sentences": sentences,
        "seconds": to_sentences,
        "report_seconds": time.process_time(),
        "megabytes": size / 1e6,
    }


def asked(name: str) -> dict[str, object]:
    """The measurement of one table, or what went wrong."""
    path = DATA / (f"real_tables/{name}.csv" if name in REAL else f"{name}.csv")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode:
        return {"error": run.stderr.strip().splitlines()[-1][:300]}
    found: dict[str, object] = json.loads(run.stdout.splitlines()[-1])
    return found


def line(name: str, expected: str, found: dict) -> str:
    """One row of the page."""
    if "error" in found:
        return f"| {name} | | | | | | {expected} | {found['error']} | |"
    roles = found["roles"]
    aside = "; ".join(f"{role}: {', '.join(names)}" for role, names in roles.items() if role != "number")
    size = f"{found['n']:,} x {found['d']}"
    seconds = f"{found['seconds']:.1f} / {found['report_seconds']:.1f}"
    return (
        f"| {name} | {size} | {aside or 'none'} | {found['needed']} / {found['detectable']} | {found['odd']:,} | "
        f"{seconds} | {expected} | {' '.join(found['sentences'])} | {WHY[name]} |"
    )


HEAD = """# Real tables

`OPENBLAS_NUM_THREADS=1 python benchmarks/real_tables.py` writes this page: every table as it is, no option given. Roles
are those of columns that shape no axis; dimensions are those needed and those that are detectable. Rows are dealt to
folds in an order that is drawn: near a threshold another order gives another answer, and the last column says so.
Seconds are the processor's of one core from the start of Python to the sentences and to the report, with a load
of {load:.1f}. Run on {date}.

| table | rows x measured | set aside | dimensions | odd rows | CPU s | a good answer | what it says | why it stands |
| --- | --- | --- | --- | ---: | --- | --- | --- | --- |
"""


def main(names: list[str]) -> None:
    everything = {**REAL, **MORE}
    load = os.getloadavg()[0]
    lines = []
    for name in names or everything:
        lines.append(line(name, everything[name], asked(name)))
        print(lines[-1], flush=True)
    if not names:
        page = HERE / "real_tables.md"
        judged = page.read_text(encoding="utf-8").partition("\n## ")  # sections that people wrote, below the table
        head = HEAD.format(load=load, date=date.today())
        page.write_text(head + "\n".join(lines) + "\n" + "".join(judged[1:]), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(sys.argv[1:])
