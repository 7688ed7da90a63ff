"""Ctrl-C and crashes: what there is is saved and marked, and no good file is ever half-written over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from lowdim.engine.fold import Run
from lowdim.jobs.analysis import analyse
from lowdim.jobs.run_folder import load_run, write
from lowdim.storage.atomic import replacing
from lowdim.text.messages import LowdimError
from tests.cli.calls import Said, child, environment, in_process
from tests.cli.conftest import small_table, write_csv

HOMES = {  # of the stages
    "dimensions": ("judge.dimensions.jury", "choose_dimension"),
    "fit": ("judge.rows.odd_rows", "judge_rows"),
    "fills": ("judge.fills.fill", "fill"),
    "axes": ("judge.maps.latent_cells", "refitted_map"),
}
# Ctrl-C as each stage begins: from inside, so that no machine is too slow or too fast; one process for all of them
EACH_STAGE = f"""
import contextlib, importlib, io, json, os, signal
from lowdim.cli.entry import run
for stage, (module, home) in {HOMES}.items():
    a = importlib.import_module(f"lowdim.{{module}}")
    real, out, err = getattr(a, home), io.StringIO(), io.StringIO()
    def stopped(*args, real=real, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        return real(*args, **kwargs)
    setattr(a, home, stopped)
    with contextlib.chdir(stage), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["fit", "t.csv", "--budget", "1s"])
    setattr(a, home, real)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
# Ctrl-C twice in a step that it does not end: that is deep inside a library
DEAF = """
import os, signal, time
import lowdim.judge.dimensions.jury as a
def deaf(*args, **kwargs):
    for _ in range(2):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        except KeyboardInterrupt:
            pass
    time.sleep(60)
a.choose_dimension = deaf
from lowdim.cli import main
main()
"""
JUDGED = ["judges.lowdim"]
FITTED = ["held.csv", *JUDGED, "model.lowdim", "odd.csv", "scores.csv"]
# what was finished by then
EXPECTED = {"dimensions": [], "fit": [*JUDGED, "model.lowdim"], "fills": FITTED, "axes": ["fills.csv", *FITTED]}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A folder for each stage, and what a fit said that was stopped as that stage began."""
    folder = tmp_path_factory.mktemp("stopped")
    for stage in EXPECTED:
        (folder / stage).mkdir()
        write_csv(folder / stage / "t.csv", small_table())
    done = child(cwd=folder, code=EACH_STAGE)
    assert done.code == 0, done.err
    said = (Said(*json.loads(line)) for line in done.out.splitlines())
    return folder, dict(zip(HOMES, said, strict=True))


@pytest.mark.parametrize("stage", EXPECTED)
def test_once_saves_what_there_is_and_marks_it(stopped, stage):
    tmp_path, said = stopped[0] / stage, stopped[1][stage]
    assert said.code == 130 and said.out == "" and "Traceback" not in said.err
    assert "marked as not finished" in said.err  # that it is stopping is told too, unless it is over by then
    told = json.loads((tmp_path / "t.run" / "run.json").read_text())
    assert told["finished"] is False and sorted(told["files"]) == EXPECTED[stage] and told["sentences"] == []
    run = load_run(tmp_path / "t.run")
    assert run.names == tuple(f"x{k}" for k in range(1, 7))
    if "model.lowdim" in told["files"]:
        assert run.model.transform(small_table()).shape == (60, told["dims"])
    else:
        with pytest.raises(LowdimError, match="stopped before there was a model"):
            _ = run.model
    listed = in_process("runs", cwd=tmp_path)
    assert listed.code == 0 and "stopped before it was finished" in listed.out


# Ctrl-C inside the k-th refit of the resampling, once its first pass is over
INSIDE = """
import os, signal, sys
import lowdim.engine.fit as m, lowdim.judge.stability as s
s.PATTERN_CELLS = 0  # all of them by passes of EM
seen, fits = m.Monitor.see, [0]
def fit(self, weight, old=s.RefitBench.fit):
    fits[0] += 1
    return old(self, weight)
def see(self, *args):
    found = seen(self, *args)
    if fits[0] == 5 and len(self.history) == 1:
        os.kill(os.getpid(), signal.SIGINT)
    return found
s.RefitBench.fit, m.Monitor.see = fit, see
from lowdim.cli import main
main()
"""


@pytest.mark.slow
def test_inside_a_refit_it_stops_the_analysis_and_not_that_refit_alone(tmp_path):
    write_csv(tmp_path / "t.csv", small_table())
    said = child("fit", "t.csv", "--budget", "1s", cwd=tmp_path, code=INSIDE)
    assert said.code == 130 and said.out == "" and "Traceback" not in said.err and "marked as not finished" in said.err
    told = json.loads((tmp_path / "t.run" / "run.json").read_text())
    assert told["finished"] is False and sorted(told["files"]) == EXPECTED["axes"]
    assert load_run(tmp_path / "t.run").model.transform(small_table()).shape == (60, told["dims"])


def test_twice_leaves_at_once(tmp_path):
    write_csv(tmp_path / "t.csv", small_table())
    begun = time.perf_counter()
    said = child("fit", "t.csv", cwd=tmp_path, code=DEAF)
    assert said.code == 130 and time.perf_counter() - begun < 55 and not (tmp_path / "t.run").exists()


@pytest.mark.slow
def test_while_the_report_is_drawn_the_run_is_complete(tmp_path):
    write_csv(tmp_path / "t.csv", small_table())
    (tmp_path / "t.report.html").write_text("an older report")
    code = (
        "import lowdim.report as r, os, signal\n"
        "def stopped(*a, **k): os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(60)\n"
        "r.write_report = stopped\nfrom lowdim.cli import main; main()"
    )
    said = child("t.csv", "--budget", "1s", cwd=tmp_path, code=code)
    assert said.code == 130 and said.out.startswith("  1. ") and "is complete; the report was not written" in said.err
    assert json.loads((tmp_path / "t.run" / "run.json").read_text())["finished"] is True
    assert (tmp_path / "t.report.html").read_text() == "an older report"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv", "t.report.html", "t.run"]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a process group")
def test_a_real_one_from_outside(tmp_path):
    write_csv(tmp_path / "t.csv", small_table(n=4000, d=12))
    process = subprocess.Popen(
        [sys.executable, "-c", "from lowdim.cli import main; main()", "fit", "t.csv"],
        text=True,
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    while "[ok] read" not in line:
        line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    # a stop that is over at once is not announced first
    assert process.returncode == 130 and "Stopped." in err and out == ""
    assert json.loads((tmp_path / "t.run" / "run.json").read_text())["finished"] is False


def test_python_hears_of_stages_and_may_stop():
    from lowdim.jobs.analysis import Stopped

    heard = []

    def tell(stage, text):
        heard.append(stage)
        return stage == "fit"

    with pytest.raises(Stopped) as stopped:
        analyse(small_table(), dims=2, budget="1s", tell=tell)
    found = stopped.value.analysis
    assert heard == ["read", "dimensions", "fit"] and not found.finished
    assert found.has("model") and found.model.n_components_ == 2 and not found.has("fills")


def test_python_gets_what_there_is_and_its_own_handler_back(monkeypatch):
    """Ctrl-C inside the jury, as a notebook's stop button sends it."""
    from lowdim.jobs.analysis import Stopped
    from lowdim.judge.dimensions.factors import Factors

    real, times = Factors.cell_errors, []

    def errors(*args):
        times.append(1)
        if len(times) == 3:
            signal.raise_signal(signal.SIGINT)
        return real(*args)

    monkeypatch.setattr(Factors, "cell_errors", errors)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped) as stopped:
        analyse(small_table(), budget="1s")
    assert len(times) == 3 and not stopped.value.analysis.has("jury") and stopped.value.analysis.table.n == 60
    assert isinstance(stopped.value, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is before


def test_a_fit_leaves_ctrl_c_to_whoever_has_taken_it():
    from lowdim import PPCA

    heard = []
    old = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        model = PPCA(2)
        model.fit(small_table(), run=Run(callback=lambda step: signal.raise_signal(signal.SIGINT)))
    finally:
        signal.signal(signal.SIGINT, old)
    assert model.converged_ and len(heard) >= 3 and model.certificate_.reason == "converged"


def test_a_write_that_fails_leaves_the_older_file(tmp_path):
    path = write(tmp_path / "x.csv", "old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temp:
        temp.write_text("half of the n")
        raise ZeroDivisionError
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["x.csv"]
    with pytest.raises(LowdimError, match="LD304"):
        write(tmp_path / "no" / "such" / "x.csv", "new")
    with pytest.raises(LowdimError, match="LD304"):
        write(tmp_path, "a folder is not a file")


def test_a_model_of_another_run_is_refused(tmp_path):
    from lowdim.jobs.run_folder import save_run

    X = small_table()
    save_run(analyse(X, dims=2, budget="1s"), tmp_path / "a.run")
    save_run(analyse(np.where(np.isnan(X), np.nan, X * 2), dims=1, budget="1s"), tmp_path / "b.run")
    os.replace(tmp_path / "b.run" / "model.lowdim", tmp_path / "a.run" / "model.lowdim")
    with pytest.raises(LowdimError, match=r"not the one that run\.json tells of"):
        _ = load_run(tmp_path / "a.run").model
