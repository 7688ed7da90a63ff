"""The table of a factor analysis as papers print it: loadings, communalities, factor correlations, fit indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lowdim.maths.factor import GoodnessOfFit
from lowdim.maths.factor_fit import FitIndices
from lowdim.maths.linalg import Array
from lowdim.text.table import text_table


class FactorTable(NamedTuple):
    """Standardised loadings of columns on factors, and how well they fit."""

    names: tuple[str, ...]
    loadings: Array  # d x q, the pattern: regressions of standardised columns on factors
    communalities: Array  # d
    uniquenesses: Array  # d
    factor_correlations: Array  # q x q
    sums_of_squares: Array  # q: what each factor explains, with what it shares with the others
    goodness_of_fit: GoodnessOfFit | None  # None where columns have missing values
    fit_indices: FitIndices | None

    @property
    def correlated(self) -> bool:
        """Whether the factors are."""
        q = len(self.factor_correlations)
        return any(abs(self.factor_correlations[i, j]) > 1e-12 for i in range(q) for j in range(i))

    def text(self) -> str:
        """The table in lines, each column under the factor on which it loads most."""
        q = self.loadings.shape[1]
        factors = [f"F{k + 1}" for k in range(q)]
        numbers = (
            (self.names[j], *self.loadings[j], self.communalities[j], self.uniquenesses[j]) for j in self._order()
        )
        shares = self.sums_of_squares / max(len(self.names), 1)
        rows = [
            ("", *factors, "communality", "uniqueness"),
            *(_shown(row) for row in numbers),
            (*_shown(("sum of squares", *self.sums_of_squares), 2), "", ""),
            (*_shown(("share of variance", *shares), 2), "", ""),
        ]
        parts = [["Standardised loadings:", *text_table(rows, right=range(1, q + 3))]]
        if self.correlated:
            rows = [("", *factors), *(_shown((factors[k], *phi)) for k, phi in enumerate(self.factor_correlations))]
            parts.append(["Factor correlations:", *text_table(rows, right=range(1, q + 1))])
        return "\n".join([line for lines in parts for line in lines] + self._fit_words())

    def _order(self) -> list[int]:
        """Columns by the factor on which they load most, and by how much."""
        most = abs(self.loadings).argmax(axis=1) if self.loadings.shape[1] else [0] * len(self.names)
        return sorted(range(len(self.names)), key=lambda j: (most[j], -abs(self.loadings[j]).max(initial=0.0)))

    def _fit_words(self) -> list[str]:
        test, fit = self.goodness_of_fit, self.fit_indices
        if test is None or fit is None:
            return ["Fit indices need a table without missing values."]
        if test.dof <= 0:
            return ["There is no degree of freedom to test the fit with."]
        low, high = fit.rmsea_interval
        freedom = f"{test.dof} degrees of freedom (Bartlett's correction)"
        indices = f"CFI {fit.cfi:.3f}, TLI {fit.tli:.3f}, SRMR {fit.srmr:.3f}"
        return [
            f"Chi-square {test.statistic:.2f} on {freedom}, p {test.p_value:.3g}.",
            f"RMSEA {fit.rmsea:.3f} (90% {low:.3f} to {high:.3f}), {indices}.",
        ]

    def lines(self) -> list[list[object]]:
        """The table as a file has it: a line a column, in the table's order, under a header."""
        factors = [f"factor{k + 1}" for k in range(self.loadings.shape[1])]
        numbers = zip(self.names, self.loadings.tolist(), self.communalities, self.uniquenesses, strict=True)
        head: list[object] = ["column", *factors, "communality", "uniqueness"]
        return [head, *([name, *row, float(shared), float(own)] for name, row, shared, own in numbers)]

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        test, fit = self.goodness_of_fit, self.fit_indices
        return {
            "columns": list(self.names),
            "loadings": self.loadings.tolist(),
            "communalities": self.communalities.tolist(),
            "uniquenesses": self.uniquenesses.tolist(),
            "factor_correlations": self.factor_correlations.tolist(),
            "sums_of_squares": self.sums_of_squares.tolist(),
            "goodness_of_fit": None if test is None else test._asdict(),
            "fit_indices": None if fit is None else fit._asdict(),
        }


def factor_table(model: Any, names: Sequence[str] | None = None) -> FactorTable:
    """The table of a fitted `FactorAnalysis`; columns without names are called c1, c2, ..."""
    L, phi = model.loadings_, model.factor_covariance_
    known = getattr(model, "feature_names_in_", None)
    called = names if names is not None else known if known is not None else [f"c{j + 1}" for j in range(len(L))]
    return FactorTable(
        tuple(map(str, called)),
        L,
        model.communalities_,
        model.uniquenesses_,
        phi,
        (L * (L @ phi)).sum(axis=0),
        model.goodness_of_fit_,
        model.fit_indices_,
    )


def _shown(row: Iterable[object], digits: int = 3) -> tuple[str, ...]:
    """A row of the printed table: no zero before the point, as in papers."""
    words, *numbers = row
    shown = (f"{v:.{digits}f}" for v in numbers if isinstance(v, float))
    return str(words), *(word.replace("0.", ".", 1) if word.lstrip("-").startswith("0.") else word for word in shown)
