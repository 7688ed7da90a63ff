"""The explorer, plotly's scattergl and Bokeh's WebGL with as many points, in one browser without a graphics card.

    python benchmarks/explore.py [ROWS ...] > benchmarks/explore.md      [default: 100000 1000000]

plotly and bokeh take part where they are installed. A picture counts as there when the browser hands out a screenshot
of it; what an idle screenshot costs is taken off.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from clock import machine  # noqa: E402

from lowdim.explorer.endpoints import Endpoints  # noqa: E402
from lowdim.explorer.server import serving  # noqa: E402
from lowdim.jobs.one_model import fit_method  # noqa: E402
from lowdim.jobs.table_model import TableModel  # noqa: E402
from lowdim.table.read import read  # noqa: E402
from tests.browser import chrome as driver  # noqa: E402

driver.PATIENCE = 300.0  # seconds: a peer may take long for a frame
APP = "document.getElementById('explore').explorer"
PAINTED = "Number(document.querySelector('.lowdim-explore')?.dataset.painted ?? 0) > 0"
LASSO = """(async () => { const e = APP, m = e.map, v = m.view, done = e.done, begun = performance.now();
    m.lasso = {corners: Array.from({length: 100}, (_, k) => [v.x + v.w * (0.5 + 0.15 * Math.cos(k / 50 * Math.PI)),
        v.y + v.h * (0.5 + 0.15 * Math.sin(k / 50 * Math.PI))]), cursor: null};
    m.closeLasso(); const lasso = m.lassoTime;
    while (e.done === done) await new Promise(next => setTimeout(next, 5));
    return [lasso / 1000, (performance.now() - begun) / 1000, e.state.group.length]; })()""".replace("APP", APP)


def simulated(n: int) -> TableModel:
    """Three dimensions in ten columns, a fiftieth of the cells missing, and the probabilistic PCA of it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 10)) + 0.5 * rng.standard_normal((n, 10))
    X[rng.random(X.shape) < 0.02] = np.nan
    fitted = fit_method(read(X), "ppca", dims=3)
    return TableModel(fitted.table, fitted.model, fitted.method, fitted.unit)


def shot(tab: Any) -> float:
    """Seconds for a screenshot of the window."""
    begun = time.perf_counter()
    tab.send("Page.captureScreenshot", format="jpeg", quality=40)
    return time.perf_counter() - begun


def measured(chrome: Any, url: str, ready: str, pan: str) -> dict[str, float]:
    """First picture, a frame of panning (the median of five), and the memory of the page's process."""
    before = renderers(chrome)
    tab = driver.Tab(chrome, width=1280, height=820)
    begun = time.perf_counter()
    tab.visit(url)
    while not tab.js(ready):
        time.sleep(0.01)
    shot(tab)
    first = time.perf_counter() - begun
    idle = min(shot(tab) for _ in range(3))
    frames = []
    for _ in range(5):
        begun = time.perf_counter()
        tab.js(pan)
        shot(tab)
        frames.append(time.perf_counter() - begun - idle)
    held = max((size for pid, size in renderers(chrome).items() if pid not in before), default=0.0)
    result = {"first": first - idle, "frame": max(float(np.median(frames)), 0.0), "memory": held}
    if url.startswith("http"):
        result |= dict(zip(("lasso", "compared", "rows"), tab.js(LASSO), strict=True))
    tab.send("Page.close")
    return result


def renderers(chrome: Any) -> dict[int, float]:
    """Memory (MB) of every page's process."""
    found = {}
    for process in psutil.Process(chrome.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it may have gone
            if "--type=renderer" in process.cmdline():
                found[process.pid] = process.memory_info().rss / 1e6
    return found


def ours(chrome: Any, z: Any, subject: TableModel, folder: Path) -> dict[str, float]:
    pan = f"{APP}.map.view.x += {APP}.map.view.w * 0.01; {APP}.map.draw()"
    with serving(Endpoints(subject)) as server:
        _ = server.endpoints.facts
        return measured(chrome, server.address + "#screen=map", PAINTED, pan)


def with_plotly(chrome: Any, z: Any, subject: TableModel, folder: Path) -> dict[str, float]:
    import plotly.graph_objects as go

    figure = go.Figure(go.Scattergl(x=z[:, 0], y=z[:, 1], mode="markers", marker={"size": 2, "opacity": 0.6}))
    path = folder / "plotly.html"
    figure.write_html(path, include_plotlyjs=True, default_width="1200px", default_height="760px", div_id="peer")
    ready = "!!document.getElementById('peer')?._fullLayout?.xaxis?.range && !!document.querySelector('canvas')"
    pan = """(() => { const g = document.getElementById('peer'), r = g._fullLayout.xaxis.range;
        return Plotly.relayout(g, {'xaxis.range': [r[0] + 0.05, r[1] + 0.05]}).then(() => 0); })()"""
    return measured(chrome, path.as_uri(), ready, pan)


def with_bokeh(chrome: Any, z: Any, subject: TableModel, folder: Path) -> dict[str, float]:
    from bokeh.embed import file_html
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    plot = figure(width=1200, height=760, output_backend="webgl")
    plot.scatter(z[:, 0], z[:, 1], size=2, alpha=0.6)
    path = folder / "bokeh.html"
    path.write_text(file_html(plot, INLINE), encoding="utf-8")
    ready = "(globalThis.Bokeh?.documents?.[0]?.is_idle ?? false)"
    pan = """(() => { const p = Bokeh.documents[0].roots()[0];
        p.x_range.setv({start: p.x_range.start + 0.05, end: p.x_range.end + 0.05}); return 0; })()"""
    return measured(chrome, path.as_uri(), ready, pan)


ABOUT = """# The explorer beside plotly and Bokeh

As many points on one map, in one headless Chromium without a graphics card, each contestant in a browser of its own,
one after the other. A picture counts as there when the browser hands out a screenshot of it; what an idle screenshot
costs is taken off. Panning: the median of five frames with every point. Memory is that of the page's process (RSS).
The table has ten columns, three dimensions and two cells in a hundred missing; the model is probabilistic PCA.
The explorer draws by a raster of its own (`explorer/web/raster.js`), plotly and Bokeh here by Chromium's
WebGL in software.
"""
LASSO_HEAD = """
A lasso:

| rows | inside | found in | all ten columns and three axes compared and said after |
| --- | --- | --- | --- |"""
HEAD = """| rows | what | first picture | a frame with every point | memory of the page |
| --- | --- | --- | --- | --- |"""


def main(sizes: list[int]) -> None:
    print(ABOUT)
    print(machine("python benchmarks/explore.py > benchmarks/explore.md", ("plotly", "bokeh")), end="\n\n")
    print(HEAD)
    lassos = []
    for n in sizes:
        subject = simulated(n)
        z = subject.places.z[:, :2]
        contestants: dict[str, Callable[..., dict[str, float]]] = {
            "lowdim explore": ours, "plotly scattergl": with_plotly, "Bokeh WebGL": with_bokeh
        }  # fmt: skip
        for name, run in contestants.items():
            with tempfile.TemporaryDirectory() as folder, driver.running() as chrome:
                try:
                    r = run(chrome, z, subject, Path(folder))
                except ImportError:
                    print(f"| {n:,} | {name} | not installed | | |")
                    continue
            print(f"| {n:,} | {name} | {r['first']:.2f} s | {r['frame']:.2f} s | {r['memory']:.0f} MB |", flush=True)
            if "lasso" in r:
                lassos.append(f"| {n:,} | {r['rows']:,.0f} | {r['lasso']:.2f} s | {r['compared']:.2f} s |")
    print("\n".join([LASSO_HEAD, *lassos]))


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [100_000, 1_000_000])
