"""Plots of arrays: each gets a stand-in that has what the plot asks of an analysis, a table or a model, and no more.

An analysis takes a second and never has 50,000 rows, hostile names and p-values of one's own at once.
"""

from types import SimpleNamespace as Parts

import numpy as np

from lowdim.jobs.table_model import model_on_table
from lowdim.judge.maps.table_map import table_map
from lowdim.judge.outliers.law import GAUSSIAN_LAW
from lowdim.judge.rows.odd_rows import Law
from lowdim.judge.rows.row_card import RowCell
from lowdim.plot.analysis import axes as axis_plots
from lowdim.plot.analysis import biplot as biplot_plot
from lowdim.plot.analysis import control as control_plot
from lowdim.plot.analysis import decode, dimensions, map_quality, odd_rows, traverse
from lowdim.plot.analysis import fills as fill_plots
from lowdim.plot.analysis import stability as stability_plot
from lowdim.plot.analysis import table as table_plots
from lowdim.plot.analysis.map import map_of_analysis
from lowdim.table.column import log_scales


# what is drawn ------------------------------------------------------------------------------------------------
def table_of(X, names=None, row_names=None):
    """A table of these cells, as they are: also with columns that never change and names that no file has."""
    X = np.asarray(X, dtype=np.float64)
    names = tuple(f"c{j + 1}" for j in range(X.shape[1])) if names is None else tuple(names)
    table = Parts(
        X=X,
        n=len(X),
        d=X.shape[1],
        names=names,
        scale_names=names,
        row_names=tuple(str(i + 1) for i in range(len(X))) if row_names is None else tuple(map(str, row_names)),
        labels={},
        columns=[Parts(name=name, role="number") for name in names],
        scale="none",
        holds="measurements",
        code_labels=((),) * X.shape[1],
        scales=log_scales(names, {}, [[None] * X.shape[1]] * 2),
    )
    table.in_ones = lambda: table  # it has no categories
    return table


def analysis_of(X, names=None, row_names=None, **parts):
    """What a plot reads of an analysis of these cells: the table, and the parts that are given."""
    table = table_of(X, names, row_names)
    return Parts(
        **{
            "table": table,
            "row_names": table.row_names,
            "has_gaps": np.isnan(table.X).any(axis=1),
            "label_names": (),
            "groups": Parts(of_rows=None),
            "settings": Parts(scale="none"),
            **parts,
        }
    )


def on_table(model, X, names=None, row_names=None, unit=None):
    """A model and the rows it was fitted to."""
    table = table_of(X, names, row_names)
    worth = np.ones(table.d) if unit is None else np.asarray(unit, dtype=np.float64)
    table.X = table.X * worth
    return model_on_table(model, table, worth)


def rows_of(n):
    return np.zeros((n, 1))


# odd rows -----------------------------------------------------------------------------------------------------
def t2_q(T2_p, Q_p, odd=None, **how):
    n = len(T2_p)
    laws = {"T2": Parts(p=np.asarray(T2_p)), "Q": Parts(p=np.asarray(Q_p))}
    found = Parts(odd=np.zeros(n, dtype=bool) if odd is None else np.asarray(odd, dtype=bool), **laws)
    return odd_rows.t2_q(analysis_of(rows_of(n), odd=found), **how)


def why_row(value, expected, sd, surprise, names, *, row_name="1", hide=(), p=0.5, p_after=1.0):
    def number(x):
        return None if x is None or np.isnan(x) else float(x)

    cells = zip(names, value, expected, sd, surprise, strict=True)
    cells = tuple(RowCell(str(n), number(v), float(e), float(s), number(z)) for n, v, e, s, z in cells)
    card = Parts(name=str(row_name), cells=cells, hide=tuple(hide), p=p, p_after=p_after)
    return odd_rows.why_row(Parts(explain=lambda row: card), 0)


def why_all(surprise, names, row_names=None):
    S = np.asarray(surprise, dtype=float)
    return odd_rows.why_all(analysis_of(S, names, row_names, surprises=np.nan_to_num(S)))


def control(T2, T2_dof, Q, Q_dof, *, row_names=None, new=0, **how):
    """The last `new` rows are placed on the map of the others."""
    names = [str(k + 1) for k in range(len(T2))] if row_names is None else [str(name) for name in row_names]

    def part(rows):
        laws = ((T2, T2_dof), (Q, Q_dof))
        T2_law, Q_law = (Law(np.asarray(v, float)[rows], np.asarray(dof)[rows], np.ones(0)) for v, dof in laws)
        found = Parts(T2=T2_law, Q=Q_law, judged=Parts(law=GAUSSIAN_LAW))
        return Parts(row_names=tuple(names[rows]), odd=found)

    old = len(names) - new
    placed = part(slice(old, None)) if new else None
    return control_plot.control(part(slice(old)), placed=placed, **how)


# dimensions ---------------------------------------------------------------------------------------------------
def scree(eigenvalues, *, band=(), q=0):
    found = Parts(eigenvalues=np.asarray(eigenvalues, dtype=float), band=np.asarray(band, dtype=float), notes=())
    return dimensions.scree(Parts(jury=found, dims=q))


def jury(qs, weights, picks, q):
    """Weights of BIC and, where there are two, of Minka."""
    bic, *minka = weights
    rows = [
        Parts(q=k, bic_weight=bic[i], minka_weight=minka[0][i] if minka else None, skill=None) for i, k in enumerate(qs)
    ]
    judges = [Parts(name=name, q=pick) for name, pick in picks.items()]
    return dimensions.jury(Parts(jury=Parts(rows=rows, judges=judges, q=q, notes=())))


def heldout(qs, skill, errors, q, *, own=None, detectable=0, cells=None):
    own = [None] * len(skill) if own is None else own
    rows = [Parts(q=k, skill=s, q2=o) for k, s, o in zip(qs, skill, own, strict=True)]
    paired = [Parts(other=k, error=e, cells=cells) for k, e in zip(qs, errors, strict=True)]
    return dimensions.heldout(Parts(jury=Parts(rows=rows, paired=paired, q=q, detectable=detectable)))


def distances(law):
    return dimensions.distances(Parts(jury=Parts(distances=law)))


# fills --------------------------------------------------------------------------------------------------------
def fills(values, mask, lower, upper, names, column=None, *, level=0.9):
    found = Parts(filled=values, is_filled=mask, lower=lower, upper=upper, labels=(), level=level)
    return fill_plots.fills(analysis_of(values, names, fills=found), column)


def calibration(held, tried, names, *, shares=None):
    """`shares` of cells held at the four levels that are drawn; without them no curve is."""
    columns = [Parts(column=n, held=h, tried=t) for n, h, t in zip(names, held, tried, strict=True)]
    tried_cells = sum(tried) if shares is not None else 0
    found = Parts(columns=columns, level=0.9, tried=tried_cells, coverage=lambda levels: np.array(shares))
    return fill_plots.calibration(Parts(fills=found))


# the table ----------------------------------------------------------------------------------------------------
def columns(X, names):
    return table_plots.columns(table_of(X, names))


def gaps(seen, names, row_names=None, **how):
    return table_plots.gaps(table_of(np.where(seen, 0.0, np.nan), names, row_names), **how)


def gap_pairs(seen, names, X=None):
    rng = np.random.default_rng(0)
    cells = rng.standard_normal(np.shape(seen)) if X is None else X
    return table_plots.gap_pairs(table_of(np.where(seen, cells, np.nan), names))


# axes ---------------------------------------------------------------------------------------------------------
def axis_cards(cards, row_names=None, **how):
    n = 1 + max((i for card in cards for i in (*card.low_rows, *card.high_rows)), default=0)
    return axis_plots.axis_cards(analysis_of(rows_of(n), None, row_names, axes=tuple(cards), dims=len(cards)), **how)


def loadings(L, names, widths, shares=None, **how):
    shares = np.zeros(L.shape[1]) if shares is None else shares
    cards = [Parts(share=shares[k], loadings=[Parts(low=0.0, high=w) for w in widths[:, k]]) for k in range(L.shape[1])]
    found = analysis_of(np.zeros((2, len(L))), names, axes=cards, dims=L.shape[1], loadings=L)
    return axis_plots.loadings(found, **how)


def biplot(model, scores, names, **how):
    map = table_map(model, tuple(names))
    found = analysis_of(np.zeros((len(scores), len(names))), names, map=map, posterior=Parts(mean=scores))
    found.dims = scores.shape[1]
    return biplot_plot.biplot(found, **how)


def stability(clouds, reference, angles, plane, row_names=None):
    n = len(reference)
    found = Parts(cloud=clouds, shown=np.arange(n), axes=angles, plane=plane)
    posterior = Parts(mean=reference)
    return stability_plot.stability(
        analysis_of(rows_of(n), None, row_names, dims=angles.shape[1], stability=found, posterior=posterior)
    )


# maps ---------------------------------------------------------------------------------------------------------
def map_rows(posterior, *, shares, gap_rows=None, odd=(), row_names=None, **how):
    n, q = posterior.mean.shape
    found = Parts(rows=[Parts(row=i) for i in odd], judged=Parts(law=GAUSSIAN_LAW))
    X = np.zeros((n, 1))
    X[np.zeros(n, dtype=bool) if gap_rows is None else gap_rows] = np.nan
    stand_in = analysis_of(X, None, row_names, dims=q, posterior=posterior, shares=tuple(shares), odd=found)
    stand_in.table.shape, stand_in.table.rows = X.shape, np.arange(n)
    return map_of_analysis(stand_in, **how)


def compared_map(plot):
    """A plot that judges a map, of a table and a map of it."""

    def drawn(X, Z, *, row_names=None, **how):
        return plot(analysis_of(X, None, row_names), Z, **how)

    return drawn


shepard, neighbors, trust, distance_matrix = map(
    compared_map, (map_quality.shepard, map_quality.neighbors, map_quality.trust, map_quality.dist_matrix)
)


def versus(Z, other, **how):
    q = Z.shape[1]
    map = Parts(cells=Parts(loadings=np.eye(q)))
    return map_quality.versus(analysis_of(Z, map=map, dims=q, posterior=Parts(mean=Z)), other, **how)


# rows made again ----------------------------------------------------------------------------------------------
def reconstruct(model, X, row, names, **how):
    found = analysis_of(X, names, map=table_map(model, tuple(names)), dims=int(model.n_components_))
    return decode.reconstruct(found, row, **how)


def walked(model, axis, names, *, X, unit=None, **how):
    return traverse.traverse(on_table(model, X, names, unit=unit), axis, **how)
