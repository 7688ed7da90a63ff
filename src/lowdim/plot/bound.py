"""The named plots of an analysis: `found.plot.map()`, `found.plot.draw("scree")`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.judge.fills.fills import LEVELS
from lowdim.plot.analysis.map import NAMED, POINTS
from lowdim.plot.base import Plot
from lowdim.plot.colour import chosen, rows_named
from lowdim.plot.gallery import GALLERY
from lowdim.plot.marks import spread_out
from lowdim.table.table import column_units
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis


class Plots:
    """Every named plot, bound to one analysis; a plot that does not apply says why."""

    def __init__(self, found: Analysis) -> None:
        self._found = found

    def draw(self, name: str, **how: Any) -> Plot:
        """The plot of this name."""
        if name not in GALLERY:
            raise error("LD210", option="plot", value=name, allowed="one of " + ", ".join(GALLERY))
        made = getattr(self, name)(**how)
        assert isinstance(made, Plot)
        return made

    def _call(self, name: str, *args: Any, **how: Any) -> Plot:
        module, function = GALLERY[name].split(":")
        made = getattr(import_module(module), function)(*args, **how)
        assert isinstance(made, Plot)
        return made

    def _axes(self, least: int, name: str) -> int:
        q = self._found.dims
        if q < least:
            raise error("LD215", name=name, least=least, q=q)
        return q

    # the table -------------------------------------------------------------------------------------
    def columns(self, **how: Any) -> Plot:
        return self._call("columns", self._found.table.X, self._found.table.names, **how)

    def gaps(self, **how: Any) -> Plot:
        t = self._found.table
        return self._call("gaps", ~np.isnan(t.X), t.names, t.row_names, **how)

    def gap_pairs(self, **how: Any) -> Plot:
        t = self._found.table
        return self._call("gap_pairs", ~np.isnan(t.X), t.names, report=self._found.gaps, **how)

    # how many dimensions ---------------------------------------------------------------------------
    def scree(self, **how: Any) -> Plot:
        jury = self._found.jury
        noise = float(self._found.model.noise_variance_) if self._found.settings.scale == "unit" else None
        if not len(jury.eigenvalues):
            raise error("LD216", name="scree", why=jury.notes[-1] if jury.notes else "there was nothing to judge")
        band = jury.band if len(jury.band) else None
        return self._call("scree", jury.eigenvalues, band=band, noise=noise, q=self._found.dims, **how)

    def jury(self, **how: Any) -> Plot:
        j = self._found.jury
        if not j.rows:
            raise error("LD216", name="jury", why=j.notes[-1] if j.notes else "there was nothing to judge")
        weights: dict[str, Any] = {"evidence on all rows (BIC)": [row.bic_weight for row in j.rows]}
        if any(row.minka_weight is not None for row in j.rows):
            weights["Minka, complete rows"] = [row.minka_weight or 0.0 for row in j.rows]
        picks = {judge.name: judge.q for judge in j.judges}
        advisers = [judge.name for judge in j.judges if not judge.votes]
        return self._call("jury", [row.q for row in j.rows], weights, picks, j.q, advisers=advisers, **how)

    def heldout(self, **how: Any) -> Plot:
        rows = [row for row in self._found.jury.rows if row.q2 is not None]
        if not rows:
            raise error("LD216", name="heldout", why="no cells could be hidden in this table")
        error_of = {pair.other: pair.error for pair in self._found.jury.paired}
        return self._call(
            "heldout",
            [r.q for r in rows],
            [r.q2 for r in rows],
            [r.log_density for r in rows],
            [error_of.get(r.q, 0.0) for r in rows],
            self._found.jury.q,
            **how,
        )

    def distances(self, **how: Any) -> Plot:
        law = self._found.jury.distances
        if law is None:
            raise error("LD216", name="distances", why="fewer than two columns vary")
        return self._call(
            "distances",
            law.counts,
            law.columns,
            effective=law.effective,
            edges=law.edges,
            mean=law.mean,
            compared=law.compared,
            law=law.independent_variance / law.mean**2,
            **how,
        )

    # the map and its axes --------------------------------------------------------------------------
    def map(self, *, color: Any = None, labels: Any = "odd", axes: tuple[int, int] = (0, 1), **how: Any) -> Plot:
        """Rows on two axes (positions from 0), coloured by a column's name or by one value a row.

        Without `color` the first label column colours a table of up to 3,000 rows. `labels` says which rows are
        named: "odd", "none", or a list of row names or positions.
        """
        f, t = self._found, self._found.table
        self._axes(2, "map")
        if color is None and t.n <= POINTS:
            color = next(iter(t.labels), None)
        values, name = (None, "") if color is None else chosen(t, color)
        odd = [r.row for r in f.odd.rows]
        return self._call(
            "map",
            f.posterior,
            axes=axes,
            shares=[card.share for card in f.axes],
            row_names=t.row_names,
            gap_rows=np.isnan(t.X).any(axis=1),
            odd_rows=odd,
            color=values,
            color_name=name,
            named=rows_named(t.row_names, labels, odd, NAMED),
            **how,
        )

    def biplot(self, **how: Any) -> Plot:
        self._axes(2, "biplot")
        return self._call("biplot", self._found.model, self._found.posterior.mean, self._found.table.names, **how)

    def loadings(self, **how: Any) -> Plot:
        self._axes(1, "loadings")
        cards = self._found.axes
        widths = np.array([[x.high - x.low for x in card.loadings] for card in cards]).T
        return self._call(
            "loadings",
            self._found.model.components_.T,
            self._found.table.names,
            widths=widths,
            shares=np.array([card.share for card in cards]),
            **how,
        )

    def hinton(self, **how: Any) -> Plot:
        self._axes(1, "hinton")
        return self._call("hinton", self._found.model.components_.T, self._found.table.names, **how)

    def relevance(self, **how: Any) -> Plot:
        found = vars(self._found.model)
        if "relevance_" not in found:
            raise error("LD216", name="relevance", why="the model is not a Bayesian one that switches axes off")
        return self._call("relevance", found["relevance_"], found.get("kept_"), **how)

    def mixture(self, columns: tuple[int, int] = (0, 1), *, model: Any = None, **how: Any) -> Plot:
        """Clusters over two columns; `model` is a mixture or K-means that was fitted to the table's columns."""
        from lowdim.plot.models.mixture import parts_of

        t, model = self._found.table, self._found.model if model is None else model
        parts = parts_of(model, t.X)
        if parts is None:
            raise error("LD216", name="mixture", why="the model has no clusters; give one:  mixture(model=...)")
        return self._call("mixture", t.X, columns=columns, names=t.names, **parts, **how)

    def axis_cards(self, **how: Any) -> Plot:
        self._axes(1, "axis_cards")
        return self._call("axis_cards", self._found.axes, row_names=self._found.table.row_names, **how)

    def reconstruct(self, row: int = 0, **how: Any) -> Plot:
        q = self._axes(1, "reconstruct")
        qs = sorted({k for k in (1, 2, 5, q) if k <= q})
        t = self._found.table
        return self._call("reconstruct", self._found.model, t.X, row, qs, t.names, **how)

    def traverse(self, axis: int = 0, *, model: Any = None, **how: Any) -> Plot:
        """A walk along an axis of the map, or of a `model` that was fitted to the table's columns."""
        t = self._found.table
        if model is not None:
            return self._call("traverse", model, axis, t.names, X=t.X, **how)
        self._axes(axis + 1, "traverse")
        return self._call("traverse", self._found.model, axis, t.names, **how)

    def component_images(self, shape: tuple[int, int] | None = None, **how: Any) -> Plot:
        side = int(np.sqrt(self._found.table.d))
        if shape is None and side * side != self._found.table.d:
            raise error("LD216", name="component_images", why="the columns are not the pixels of a square image")
        return self._call("component_images", self._found.model, shape or (side, side), **how)

    # fills and odd rows ----------------------------------------------------------------------------
    def fills(self, **how: Any) -> Plot:
        f, t = self._found.fills, self._found.table
        if not f.is_filled.any():
            raise error("LD216", name="fills", why="there are no gaps")
        return self._call(
            "fills", f.filled, f.is_filled, f.lower, f.upper, t.names, level=f.level, row_names=t.row_names, **how
        )

    def calibration(self, **how: Any) -> Plot:
        f = self._found.fills
        return self._call(
            "calibration",
            [c.held for c in f.columns],
            [c.tried for c in f.columns],
            [c.column for c in f.columns],
            level=f.level,
            levels=LEVELS,
            shares=f.coverage(LEVELS) if f.tried else None,
            **how,
        )

    def control(self, **how: Any) -> Plot:
        o = self._found.odd
        names = self._found.table.row_names
        return self._call("control", o.T2.value, o.T2.dof, o.Q.value, o.Q.dof, row_names=names, **how)

    def t2_q(self, **how: Any) -> Plot:
        o = self._found.odd
        return self._call("t2_q", o.T2.p, o.Q.p, odd=o.odd, row_names=self._found.table.row_names, **how)

    def why_row(self, row: int | None = None, **how: Any) -> Plot:
        if row is None:
            row = self._found.odd.rows[0].row if self._found.odd.rows else int(np.argmin(self._found.odd.D2.p))
        card = self._found.explain(row)
        cells = card.cells
        gap = float("nan")
        value = [gap if c.value is None else c.value for c in cells]
        surprise = [gap if c.surprise is None else c.surprise for c in cells]
        return self._call(
            "why_row",
            value,
            [c.expected for c in cells],
            [c.sd for c in cells],
            surprise,
            [c.column for c in cells],
            row_name=card.name,
            hide=card.hide,
            p=card.p,
            p_after=card.p_after,
            **how,
        )

    def why_all(self, **how: Any) -> Plot:
        t = self._found.table
        cells = np.where(np.isnan(t.X), np.nan, self._found.surprises)
        return self._call("why_all", cells, t.names, t.row_names, **how)

    # does it hold up -------------------------------------------------------------------------------
    def stability(self, **how: Any) -> Plot:
        self._axes(2, "stability")
        s = self._found.stability
        names = np.array(self._found.table.row_names, dtype=object)[s.shown]
        return self._call(
            "stability",
            s.cloud,
            self._found.posterior.mean[s.shown][:, :2],
            s.axes,
            plane=s.plane,
            row_names=names,
            **how,
        )

    # judging the map, or another one -----------------------------------------------------------------
    def _unit(self) -> Any:
        """What one unit of each column is worth on the map."""
        return column_units(self._found.table.X, self._found.settings.scale)

    def _places(self, name: str) -> Any:
        """Positions whose axes are as long as what they move in the table."""
        self._axes(1, name)
        W = self._found.model.components_  # in the units the model was fitted in; its axes are orthogonal there
        return self._found.posterior.mean * np.sqrt((W**2).sum(axis=1))

    def _judge(self, name: str, Z: Any, **how: Any) -> Plot:
        X = self._found.table.X / self._unit()
        return self._call(name, X, self._places(name) if Z is None else Z, **how)

    def shepard(self, Z: Any = None, **how: Any) -> Plot:
        """Distances on this map, or on another one `Z`, over those in the table."""
        return self._judge("shepard", Z, **how)

    def neighbours(self, Z: Any = None, **how: Any) -> Plot:
        """Neighbours that this map, or another one `Z`, keeps."""
        return self._judge("neighbours", Z, **how)

    def trust(self, Z: Any = None, **how: Any) -> Plot:
        """Each row's own trustworthiness on this map, or on another one `Z`."""
        return self._judge("trust", Z, row_names=self._found.table.row_names, **how)

    def dist_matrix(self, Z: Any = None, **how: Any) -> Plot:
        """Distances in the table and on this map, or on another one `Z`, by its first axis."""
        return self._judge("dist_matrix", Z, row_names=self._found.table.row_names, **how)

    def versus(self, other: Any = None, **how: Any) -> Plot:
        """This map and another one of the same rows; Isomap of the filled table where none is given."""
        Z, names = self._places("versus"), self._found.table.row_names
        if other is not None:
            return self._call("versus", Z, other, row_names=names, **{"names": ("this map", "the other"), **how})
        from lowdim.models.spectral.isomap import Isomap

        rows = spread_out(len(Z), 1000)
        other = Isomap(Z.shape[1]).fit_transform(self._found.fills.filled[rows] / self._unit())
        return self._call(
            "versus", Z[rows], other, row_names=[names[i] for i in rows], names=("this map", "Isomap"), **how
        )

    def springs(self, model: Any = None, **how: Any) -> Plot:
        """The springs of a fitted spectral model with a `precision_`; Laplacian eigenmaps where none is given."""
        names = self._found.table.row_names
        if model is None:
            from lowdim.models.spectral.laplacian_eigenmaps import LaplacianEigenmaps

            cells = self._found.fills.filled / self._unit()
            rows = np.sort(np.unique(cells, axis=0, return_index=True)[1])  # equal rows have no spring between them
            rows = rows[spread_out(len(rows), 500)]
            model = LaplacianEigenmaps(2).fit(cells[rows])
            names = tuple(names[i] for i in rows)
        how = {"row_names": names, "draw": model.sample_field(1, 0)[:, 0], **how}
        return self._call("springs", model.embedding_, model.precision_, **how)

    def kpca_contours(self, columns: tuple[int, int] = (0, 1), *, model: Any = None, **how: Any) -> Plot:
        """Kernel PCA of two columns; a fitted `model` of theirs, or one with the width of the median distance."""
        t, pair = self._found.table, list(columns)
        if len({*pair}) != 2 or not all(0 <= j < t.d for j in pair):
            raise error("LD210", option="columns", value=columns, allowed=f"two different columns from 0 to {t.d - 1}")
        X = t.X[:, pair] if model is not None else t.X[:, pair] / self._unit()[pair]
        X = X[np.isfinite(X).all(axis=1)]
        X = X[spread_out(len(X), 1000)]
        if model is None:
            from lowdim.models.spectral.kernel_pca import KernelPCA

            model = KernelPCA(min(8, len(X) - 1)).fit(X)
        return self._call("kpca_contours", model, X, names=[t.names[j] for j in pair], **how)

    # nonlinear models of the same table ----------------------------------------------------------------
    def _one(self, name: str, model: Any, make: Any, most: int, **how: Any) -> Plot:
        """A plot of one model: a fitted one of the table's columns, or one made here of columns in their spread."""
        from lowdim.plot.of_model import plot_model

        t, unit = self._found.table, np.ones(self._found.table.d) if model is not None else self._unit()
        rows = np.arange(t.n) if model is not None else spread_out(t.n, most)
        model = make().fit(t.X[rows] / unit) if model is None else model
        return plot_model(name, model, t, unit=unit, rows=rows, **how)

    def _sheet(self, name: str, model: Any, **how: Any) -> Plot:
        from lowdim.models.nonlinear.gtm import GTM

        return self._one(name, model, GTM, POINTS, **how)

    def gtm_sheet(self, *, model: Any = None, **how: Any) -> Plot:
        """The bent sheet of a GTM or a density network; a GTM of columns in units of their spread where none is given.

        `columns=(0, 2)` is the plane of these two; without it that of the first principal axes.
        """
        return self._sheet("gtm_sheet", model, **how)

    def magnification(self, *, model: Any = None, **how: Any) -> Plot:
        """How much that sheet is stretched at each place of its map."""
        return self._sheet("magnification", model, **how)

    def responsibility(self, row: int | None = None, *, model: Any = None, **how: Any) -> Plot:
        """One row's posterior over the nodes; without `row` the most spread out."""
        return self._sheet("responsibility", model, row=row, **how)

    def latent_variance(self, *, model: Any = None, **how: Any) -> Plot:
        """The map of a GP-LVM over its predictive sd; of up to 300 rows, spread over the table, where none is given."""
        from lowdim.models.gaussian_process.gplvm import GPLVM

        return self._one("latent_variance", model, GPLVM, 300, **how)

    def bottleneck(self, widths: Any = None, *, model: Any = None, **how: Any) -> Plot:
        """Autoencoders of each width beside PCA, of the filled table in units of each column's spread."""
        rows = spread_out(self._found.table.n, 1000)
        X = self._found.fills.filled[rows] / self._unit()
        return self._call("bottleneck", X, widths, model=model, **how)

    def trace(self, **how: Any) -> Plot:
        return self._call("trace", self._found.model.history_, self._found.model.certificate_.objective_name, **how)

    def em_movie(self, columns: tuple[int, int] = (0, 1), **how: Any) -> Plot:
        t = self._found.table
        pair = list(columns)
        return self._call("em_movie", t.X[:, pair], names=[t.names[j] for j in pair], **how)
