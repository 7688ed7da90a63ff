"""One named model of a table: fitted, saved as a run folder, and asked about new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.jobs.analysis import Settings
from lowdim.jobs.apply import check_gaps, place_rows, says_cells
from lowdim.jobs.model_inputs import (
    checked_views,
    classes_of_table,
    factor_words,
    fit_mixed,
    judged_rows,
    medoid_words,
    pair_options,
    pair_source,
    parse_likelihoods,
    parse_views,
    saved_cells,
    selected_words,
    shared_axes,
    shared_words,
    spared_words,
    told_apart,
    view_source,
)
from lowdim.jobs.run_folder import MODEL, ONE_MODEL, run_facts, save_facts, staged, write
from lowdim.jobs.run_tables import RowPlaces, odd_table
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.maps.table_map import TableMap, table_map
from lowdim.judge.mixed_table import MixedTable
from lowdim.judge.read_table import read
from lowdim.maths.factor import most_factors
from lowdim.maths.linalg import Array
from lowdim.models.linear.factor_analysis import FactorAnalysis
from lowdim.models.linear.factor_table import FactorTable, factor_table
from lowdim.registry import FITTED, ModelEntry, find_method
from lowdim.sources.arrays import ArraySource
from lowdim.table.table import Table, column_units
from lowdim.text.csv_table import csv_table
from lowdim.text.format import count
from lowdim.text.messages import error, warn

AXES_OF_DISTANCES = 2  # of a map of distances, where no other number is asked for
NO_EVIDENCE = "they have no evidence that could choose it"
OWN_WORDS = {"n_components": "dims (--dims)", "n_clusters": "clusters (--clusters)", "random_state": "--seed"}
CLUSTERS_TRIED = (1, 10)  # numbers of clusters that are tried where none is named


class FittedMethod(NamedTuple):
    """A model of a table in units of its columns' spread, and where it puts the rows."""

    table: Table  # as the model takes it: one of numbers alone has categories in zeros and ones
    method: ModelEntry
    settings: Settings
    clusters: int
    model: Any
    unit: Array  # what one unit of each column is worth: its spread, or 1
    places: RowPlaces
    found: str = ""  # what else the model found, in words
    why: str = ""  # how sure the number of clusters is
    mixed: MixedTable | None = None  # the columns as they were fitted, where they have likelihoods of their own
    read: Table | None = None  # the table as it was read, where that is another

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """What was fitted, in a few lines."""
        t, p = self.table, self.places
        title = self.method.title[0].upper() + self.method.title[1:]
        what = f"{count(t.n, 'row')} x {count(t.d, 'column')}"
        what = what if t.holds == "measurements" else f"the {t.holds} of {count(t.n, 'row')}"
        unit = "in units of each column's spread"
        if self.mixed is not None:
            d = len(self.mixed.columns)
            what, unit = f"{count(t.n, 'row')} x {count(d, 'column')} ({self.mixed.words})", "in the table's units"
        lines = [f"{title} of {what}: {p.words}."]
        if self.why:
            lines.append(f"By evidence: {self.why}")
        if p.density is not None:
            kind = f", {self.method.estimate}" if self.method.estimate else ""
            lines.append(f"Mean log density {p.density.mean():.4g} a row{kind} ({unit}).")
        return "\n".join([*lines, *([self.found] if self.found else []), self.model.certificate_.text()])

    @property
    def map(self) -> TableMap | None:
        """What the model says of cells; None of one that says nothing of them."""
        if not says_cells(self.method, self.model):
            return None
        return table_map(self.model, self.table.names, self.table.scales, self.unit)

    @property
    def factors(self) -> FactorTable | None:
        """The table of a factor analysis; None of another model."""
        return factor_table(self.model, self.table.names) if isinstance(self.model, FactorAnalysis) else None

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it, and where the rows are."""
        return {
            "method": self.method.name,
            "sentence": self.text().split("\n")[0],
            "found": self.found.split("\n") if self.found else [],
            **self.places.facts(),
            "rows": dict(self.places.more),
            "factors": None if self.factors is None else self.factors.facts(),
            "certificate": self.model.certificate_,
        }


def fit_method(
    table: Any,
    name: str,
    *,
    dims: int | str = "auto",
    clusters: int | None = None,
    random_state: int = 0,
    options: Mapping[str, Any] | None = None,
    label: str | None = None,
    views: Mapping[str, Sequence[str]] | str | None = None,
    run: Run | None = None,
) -> FittedMethod:
    """Fit a method by its name to a table: what `lowdim fit --method NAME` does.

    Parameters
    ----------
    table : path, data frame, array or Table
        Columns count in units of their spread unless it was read with scale="none" ("select": as they are). A square
        table of distances between its rows, or one read with pairs="distances" or pairs="similarities", is taken as
        such by "mds", "isomap", "le", "lle" and "kmedoids", of similarities by "mds" and "kpca". "mixed" takes every
        column of labels too, those named by `label` when it was read excepted, each with its own likelihood.
    name : str
        One of those that `lowdim methods` lists, such as "gtm".
    dims : int or "auto", default "auto"
        "auto" asks the jury, except for Bayesian PCA, mixed factor analysis and the Bayesian GP-LVM, which decide by
        themselves; a nonlinear map gets two axes at most, as the jury counts straight ones.
    clusters : int, optional
        Of a method that has them; the evidence of Gaussian mixtures decides where it is not given.
    random_state : int, default 0
    options : mapping of str to value, optional
        Options of the model's class by their names, such as {"n_neighbors": 12}: `lowdim fit --set`. Of "mixed"
        {"likelihoods": {"visits": "count"}} names those of some columns; all others are as reading found them.
    label : str, optional
        The column of the classes that "lda" tells apart; the only label column where it is not given.
    views : mapping of str to columns, or str, optional
        The two sets of columns of "cca", by name or as `lowdim fit --views` has them: "a:1-12,b:13-40".
    run : Run, optional
        How to run. Ctrl-C, or a callback of `run`, keeps the best there is.

    Returns
    -------
    FittedMethod
        `.model` is the fitted model, `.places` says where it puts the rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 1)) * [1.0, 2.0, 3.0] + 0.1 * np.eye(50, 3)
    >>> fit_method(X, "ppca", dims=1).places.z.shape
    (50, 1)
    """
    method = find_method(name, FITTED)
    declared = parse_likelihoods((options or {}).get("likelihoods", {})) if method.kinds else ()
    t = read(table, declared=declared, **read_for(method))
    if (label is not None and method.asks != "classes") or (views is not None and method.asks != "views"):
        word, able = ("label", "lda") if label is not None else ("views", "cca")
        raise error("LD210", option=word, value=label or views, allowed=f"None for {method.title}: it is for {able}")
    options = options or {}
    how: dict[str, Any] = {} if run is None else {"run": run}
    if method.kinds and t.holds == "measurements":
        check_options(method, method.make(1, 0, random_state), options)
        mixed, model = fit_mixed(t, method.begins or 1, dims, random_state, run, options)
        settings, places = Settings(dims, t.scale, seed=random_state), place_rows(model, method, mixed.source)
        return FittedMethod(t, method, settings, 0, model, np.ones(t.d), places, spared_words(t, mixed), mixed=mixed)
    numbers = t if t.holds != "measurements" else t.in_ones()  # categories in zeros and ones
    inputs = _inputs(numbers, method, dims, clusters, random_state, label, views, options)
    model, own = method.make(inputs.dims, inputs.clusters, random_state), {**options, **inputs.options}
    check_options(method, model, own)
    model.set_params(**own)
    if inputs.weight is not None:
        if "sample_weight" not in signature(model.fit).parameters:
            raise error("LD283", model=type(model).__name__)
        how["sample_weight"] = inputs.weight
    model.fit(*inputs.given, **how)
    if inputs.incomplete:
        places = RowPlaces(model.embedding_, None, None, None)
    else:
        places = place_rows(model, method, inputs.rows)
    if method.needs and dims == "auto":
        places = places.first(max(1, int(getattr(model, method.needs))))
    settings = Settings(dims, t.scale if t.holds == "measurements" else "none", seed=random_state)
    words = {"kmedoids": medoid_words, "select": selected_words, "fa": factor_words}.get(method.name)
    found = inputs.found(model) if inputs.found else words(model, numbers) if words else ""
    return FittedMethod(
        numbers, method, settings, inputs.clusters, model, inputs.unit, places, found, inputs.why, read=t
    )


def read_for(method: ModelEntry) -> dict[str, Any]:
    """How a table is read for a method: one that takes labels has a place for rows that hold nothing else."""
    return {"labelled_rows": True} if method.kinds else {}


class Inputs(NamedTuple):
    """What a model of numbers or pairs is fitted to, and its sizes."""

    rows: ArraySource  # every row as the model takes it
    given: tuple[Any, ...]  # what `fit` gets: rows, or those whose class is known, and the classes
    unit: Array  # what the table's columns were divided by
    dims: int | None
    clusters: int = 0
    weight: Array | None = None  # of the rows that `fit` gets
    options: Mapping[str, Any] = {}  # that say what the rows are, or follow from them
    why: str = ""  # how sure the number of clusters is
    found: Callable[[Any], str] | None = None  # what the model found, in words of its own
    incomplete: bool = False  # pairs are missing: rows are where the fit put them


def _inputs(
    t: Table,
    method: ModelEntry,
    dims: int | str,
    clusters: int | None,
    seed: int,
    label: str | None,
    views: Any,
    options: Mapping[str, Any],
) -> Inputs:
    """The table as a method takes it: pairs of rows, rows and their classes, two views, or numbers alone."""
    asked = None if dims == "auto" else int(dims)
    if t.holds != "measurements":
        metric, pairs = pair_options(method, t), pair_source(t)
        if method.lack("map") and not clusters:
            allowed = f"a number (--clusters) for {t.holds}: {NO_EVIDENCE}"
            raise error("LD210", option="clusters", value=None, allowed=allowed)
        missing = not method.lack("map") and bool(np.isnan(pairs.values).any())
        q = AXES_OF_DISTANCES if asked is None else asked
        return Inputs(pairs, (pairs,), np.ones(t.d), q, clusters or 0, options=metric, incomplete=missing)
    check_gaps(method, t.X, "lowdim fill FILE -o FILLED, then fit FILLED")
    if method.slow and t.n > method.most_rows:
        warn("LD492", model=method.title, n=f"{t.n:,}", why=method.slow, most=method.most_rows)
    classes = classes_of_table(t, label) if method.asks == "classes" else None
    if method.asks == "views" and views is None:
        raise error("LD280", t.path, case="table", problem="no views are named")
    unit = np.ones(t.d) if method.own_units else column_units(t.X, t.scale)
    X = ArraySource(t.X / unit, columns=t.names)
    if classes is not None:
        known, y = ArraySource(X.values[classes.rows], columns=t.names), classes.y
        weight = None if t.weight is None else t.weight[classes.rows]
        found = partial(told_apart, X=known.values, classes=classes, names=t.names)
        return Inputs(X, (known, y), unit, asked, weight=weight, found=found)
    if method.asks == "views":
        two = parse_views(views, t) if isinstance(views, str) else checked_views(views)
        source, first = view_source(X, two), len(next(iter(two.values())))
        q = shared_axes(source, first, dims, {} if t.weight is None else {"sample_weight": t.weight})
        found = partial(shared_words, views=two)
        return Inputs(X, (source,), unit, q, weight=t.weight, options={"views": first}, found=found)
    sizes, k, why, own = _sizes(method, X, t.weight, dims, clusters, seed, options)
    return Inputs(X, (X,), unit, sizes, k, t.weight, own, why)


def check_options(method: ModelEntry, model: Any, options: Mapping[str, Any]) -> None:
    """Refuse options that the model does not have, with those it has, and sizes, which have words of their own."""
    known = model.get_params(deep=False)
    for name, value in options.items():
        if name in OWN_WORDS:
            clusters = name == "n_components" and method.lack("map") and not method.local  # of a mixture: its parts
            allowed = f"it by {OWN_WORDS['n_clusters' if clusters else name]}"
            raise error("LD210", option=name, value=value, allowed=allowed)
        if name not in known:
            allowed = f"an option of {type(model).__name__}: {', '.join(sorted(known))}"
            raise error("LD210", option=name, value=value, allowed=allowed)


def _sizes(
    method: ModelEntry,
    X: ArraySource,
    weight: Array | None,
    dims: int | str,
    clusters: int | None,
    seed: int,
    options: Mapping[str, Any],
) -> tuple[int | None, int, str, dict[str, Any]]:
    """The numbers of dimensions and of clusters, each asked for only where the method has them and does not find it
    itself; None = all axes. Where the evidence says how many clusters, it says of which covariance, too."""
    clustered, q = bool(method.lack("map")), dims if isinstance(dims, int) else None
    if q is not None and method.most(q, False) < q:
        raise error("LD210", option="dims", value=dims, allowed=f"at most {method.most_axes} for {method.title}")
    if q is None and method.begins != 0:
        q = None if method.begins is None else min(method.begins, X.d)
    elif q is not None or (clustered and not method.local):
        q = method.most(2 if q is None else q, dims == "auto")
    else:
        q = max(1, choose_dimension(X, standardize=False, random_state=seed).q)
        q = method.most(min(q, max(1, most_factors(X.d))) if method.factors else q, True)
    if clusters or not clustered:
        return q, clusters or 3, "", {}
    if method.clusters:
        return q, min(method.clusters, max(1, X.n // 2)), "", {}
    from lowdim.judge.clusters import choose_clusters

    low, high = CLUSTERS_TRIED
    ks = range(low, max(low, min(high, X.n // 2)) + 1)
    component = options.get("covariance_type", "auto")
    chosen = choose_clusters(X, component, ks, sample_weight=weight, random_state=seed)
    own = {"covariance_type": chosen.component} if method.covariances else {}
    return q, chosen.n_clusters, chosen.sentence, own


def save_fitted(
    fitted: FittedMethod, folder: str | PathLike[str], *, options: dict[str, Any] | None = None, command: str = ""
) -> Path:
    """Write model.lowdim, scores.csv and, of a model that judges rows, odd.csv and fills.csv; of factors their table;
    then run.json."""
    t, map = fitted.table, fitted.map
    X = t.X if fitted.mixed is None else fitted.mixed.source.values
    odd = None if map is None else judged_rows(map, X, t.row_names)
    mapped, certificate = fitted.places.cluster is None, fitted.model.certificate_
    facts = {
        **run_facts(fitted.read or t, fitted.settings, options or {}, command),
        "kind": ONE_MODEL,
        "finished": True,
        "method": fitted.method.name,
        "clusters": None if mapped else int(fitted.places.z.shape[1]),
        "unit": fitted.unit.tolist(),
        "dims": int(fitted.places.z.shape[1]) if mapped else None,
        "converged": bool(certificate.converged),
        "sentences": [fitted.text().split("\n")[0]],
    }
    with staged(folder) as stage:
        write(stage / "scores.csv", fitted.places.lines(t.row_names, odd))
        if map is not None and odd is not None:
            fills, facts["apply"] = saved_cells(map, X, odd, t.row_names, fitted.settings.level)
            write(stage / "fills.csv", fills)
            write(stage / "odd.csv", odd_table(odd))
        if fitted.factors is not None:
            head, *lines = fitted.factors.lines()
            write(stage / "factors.csv", csv_table(head, lines))
        fitted.model.save(stage / MODEL)
        save_facts(stage, facts)
    return Path(folder)
