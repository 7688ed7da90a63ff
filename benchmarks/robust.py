"""Far rows and wrong cells: how far the plane of a fit is turned, and what is named.

    python -m benchmarks.robust > benchmarks/robust.md

Tables of 200 x 10 with two signals (`tests/judge/contaminated.py`), 50 seeds each; angles to the true plane in degrees.
"""

from __future__ import annotations

import time
from datetime import date

import numpy as np

from lowdim import PPCA, RobustPPCA, __version__, robust_fit
from tests.judge.contaminated import CASES, angle, contaminated

SEEDS = 50
HEAD = f"""# Robust fits

`python -m benchmarks.robust`: 200 x 10, two signals, 50 tables a row; the largest angle between the fitted and the true
plane in degrees, median (largest). "without" is the plain fit to the rows and cells that were not touched. Far rows lie
4 to 8 standard deviations out in every column, wrong cells 5 to 10 off.
Run on {date.today()}, lowdim {__version__}, numpy {np.__version__}.
"""
COLUMNS = (
    "table", "plain", "Student's rows", "`robust_fit`", "without", "chosen", "far rows named", "clean rows named",
    "wrong cells held", "clean cells held", "far rows in one group", "CPU s",
)  # fmt: skip


def share(mask: np.ndarray, of: np.ndarray) -> float:
    return float(mask[of].mean()) if of.any() else np.nan


def one(kind: str, part: float, seed: int) -> tuple[list[float], str]:
    """Four angles, five shares and the seconds of one table; and which fit was chosen."""
    X, W, far, wrong = contaminated(kind, part, seed)
    start = time.process_time()
    fit = robust_fit(X, 2, standardize=False)
    seconds = time.process_time() - start
    without = PPCA(2).fit(np.where(wrong, np.nan, X)[~far])
    angles = [angle(m.components_.T, W) for m in (PPCA(2).fit(X), RobustPPCA(2).fit(X), fit.model, without)]
    group = len(fit.far_groups[0]) / far.sum() if far.any() and fit.far_groups else 0.0
    named = [share(fit.far_rows, far), share(fit.far_rows, ~far)]
    held = [share(fit.held_cells, wrong), share(fit.held_cells, ~wrong)]
    return [*angles, *named, *held, group, seconds], fit.choice


def main() -> None:
    print(HEAD, f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS), sep="\n")
    for kind, part in CASES:
        found = [one(kind, part, seed) for seed in range(SEEDS)]
        figures, choices = np.array([row for row, _ in found]), [choice for _, choice in found]
        words = ", ".join(
            f"{name} {choices.count(name)}" for name in ("plain", "student", "screened") if name in choices
        )
        angles = [f"{np.median(figures[:, k]):.1f} ({figures[:, k].max():.1f})" for k in range(4)]
        shares = ["" if np.isnan(v) else f"{v:.4g}" for v in np.round(figures[:, 4:9].mean(axis=0), 4)]
        name = kind if not part else f"{kind} {100 * part:.0f} %"
        print("|", " | ".join([name, *angles, words, *shares, f"{figures[:, 9].mean():.2f}"]), "|", flush=True)


if __name__ == "__main__":
    main()
