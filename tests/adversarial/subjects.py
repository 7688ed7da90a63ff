"""Whom the tables are given to: every public class with its verbs, every function, every command.

Classes come from the registry and verbs from the classes, so that new ones enter by themselves. `QUICK` holds the
options that keep a fit short, and further ones that choose another path through the code.
"""

from __future__ import annotations

import inspect
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

import lowdim
from lowdim.models.base.estimator import Absent
from lowdim.registry import ENTRIES, FUNCTIONS
from lowdim.sources.views import gather
from lowdim.text.messages import LowdimError
from tests.adversarial.inputs import base
from tests.cli.calls import in_process

Steps = Iterator[tuple[str, Callable[[], Any]]]
Subject = Callable[[Any], Steps]

SHORT = {"max_iter": 8}
QUICK: dict[str, list[dict[str, Any]]] = {
    "ProbabilisticPCA": [{"n_components": 1}, {"n_components": 2, "standardize": True, **SHORT}, {"n_components": 0}],
    "PCA": [
        {},
        {"n_components": 0.9},
        *({"n_components": 1, "solver": s} for s in ("covariance", "dual", "qr", "krylov", "em")),
        {"n_components": 1, "whiten": True},
        {"n_components": 1, "standardize": True},
    ],
    "FactorAnalysis": [SHORT, {"rotation": "varimax", "scores": "bartlett", **SHORT}],
    "DualPPCA": [{"n_components": 1, **SHORT}, {"n_components": 1, "standardize": True, **SHORT}],
    "BayesianPCA": [SHORT, {"method": "laplace", **SHORT}],
    "RobustPPCA": [{"n_components": 1, **SHORT}, {"n_components": 1, "dof": 4.0, **SHORT}],
    "MixedFactorAnalysis": [{"n_components": 1, **SHORT}, {"n_components": 1, "ard": True, "noise": "one", **SHORT}],
    "GaussianMixture": [
        {"n_components": 2, "covariance_type": c, "n_init": 1, **SHORT} for c in ("full", "tied", "diag")
    ],
    "KMeans": [{"n_clusters": 2}, {"n_clusters": 1}],
    "KMedoids": [{"n_clusters": 2}, {"n_clusters": 2, "metric": "cosine"}, {"n_clusters": 2, "metric": "precomputed"}],
    "MixtureOfPPCA": [{"n_init": 1, **SHORT}],
    "MixtureOfFA": [{"n_init": 1, **SHORT}],
    "BayesianMixtureOfPPCA": [{"n_init": 1, **SHORT}],
    "Mixture": [{"n_init": 1, **SHORT}],
    "ICA": [{"max_iter": 20}, {"n_components": 1, "fun": "cube", "max_iter": 20}],
    "CCA": [{"views": 1, **SHORT}],
    "LinearDiscriminant": [SHORT, {"shrinkage": 0.5}],
    "VarianceSelector": [{"n_components": 1}],
    "MatrixFactorization": [{"n_components": 1, **SHORT}, {"n_components": 1, "method": "map", **SHORT}],
    "GTM": [{"grid": 4, "basis": 2, **SHORT}, {"n_components": 1, "grid": 4, "basis": 2, "standardize": True, **SHORT}],
    "DensityNetwork": [{"n_samples": 8, "hidden": 2, "max_iter": 4}],
    "NonlinearFactorAnalysis": [{"hidden": 2, "max_iter": 4}],
    "GPLVM": [{"max_iter": 4, "n_init": 1}, {"kernel": "linear", "max_iter": 4, "n_init": 1}],
    "BayesianGPLVM": [
        {"n_components": 2, "n_inducing": 4, "max_iter": 3},
        {"n_components": 2, "kernel": "linear", "max_iter": 3},
    ],
    "Autoencoder": [{"hidden": 3, "max_iter": 5}, {"hidden": ()}, {"variational": True, "hidden": 3, "max_iter": 5}],
    "Isomap": [{"n_neighbors": 3}, {"n_neighbors": 3, "n_landmarks": 6}, {"n_neighbors": 3, "metric": "precomputed"}],
    "LaplacianEigenmaps": [
        {"n_neighbors": 3},
        {"n_neighbors": 3, "weights": "heat"},
        {"n_neighbors": 3, "normalization": "symmetric"},
    ],
    "LocallyLinearEmbedding": [{"n_neighbors": 4}, {"n_neighbors": 4, "variant": "acyclic"}],
    "MaximumVarianceUnfolding": [{"n_neighbors": 3}],
    "MaximumEntropyUnfolding": [{"n_neighbors": 3}],
    "ClassicalMDS": [
        {},
        {"metric": "precomputed"},
        {"metric": "squared"},
        {"metric": "similarity"},
        {"correction": "cailliez", "metric": "precomputed"},
    ],
    "KernelPCA": [
        {},
        {"kernel": "linear"},
        {"kernel": "poly"},
        {"kernel": "precomputed"},
        {"approximation": "nystroem", "n_landmarks": 6},
    ],
}

# What scikit-learn brings, what other parts of the package call (it takes blocks, sources or parameters), and files.
NOT_VERBS = {
    "arrange",
    "avoids_covariance",
    "block_cells",
    "block_posterior",
    "cost",
    "fit",
    "fit_from",
    "fit_moments",
    "fit_predict",
    "fit_transform",
    "get_feature_names_out",
    "get_metadata_routing",
    "get_params",
    "save",
    "set_output",
    "set_params",
}
LABELLED = {"LinearDiscriminant"}  # fitted with labels of the rows
KEEPS_GAPS = {"VarianceSelector"}  # hands cells on as they are: a gap in is a gap out


def labels(X: Any) -> Any:
    """Two classes of rows."""
    try:
        n = X.shape[0]
    except (AttributeError, IndexError, TypeError):
        n = len(X) if isinstance(X, list | dict | bytes | set) else 4
    return np.arange(n if isinstance(n, int) else 16) % 2


def subjects_of_class(name: str) -> dict[str, Subject]:
    """A class with each of its choices of options."""
    cls = getattr(lowdim, name)

    def subject(options: dict[str, Any]) -> Subject:
        return lambda X: use(cls(**options), X)

    def title(options: dict[str, Any]) -> str:
        return f"{name}({', '.join(f'{k}={v!r}' for k, v in options.items() if k not in ('max_iter', 'n_init'))})"

    return {title(options): subject(options) for options in QUICK.get(name, [{}])}


def use(model: Any, X: Any) -> Steps:
    """Fit, then every verb the class has; whatever is computed on demand too."""
    y = labels(X) if type(model).__name__ in LABELLED else None
    yield "fit", lambda: vars(model.fit(X, y))
    if not model.__sklearn_is_fitted__():
        return
    yield "repr", lambda: repr(model) and None
    places: list[Any] = [np.zeros((2, 1))]

    def kept(answer: Any) -> Any:
        gaps = type(model).__name__ in KEEPS_GAPS and isinstance(answer, np.ndarray)
        return np.where(np.isnan(answer), 0.0, answer) if gaps else answer

    def transform() -> Any:
        places[0] = model.transform(X)
        return kept(places[0])

    for name in verbs(type(model)):
        static = inspect.getattr_static(type(model), name)
        if isinstance(static, property):
            yield name, lambda name=name: getattr(model, name)
        elif name == "transform":
            yield name, transform
        else:
            yield name, lambda name=name: kept(call(getattr(model, name), X, places[0]))
    with tempfile.TemporaryDirectory() as folder:
        yield "save and load", lambda: (model.save(Path(folder) / "m"), vars(lowdim.load(Path(folder) / "m")))[1]


def subjects_of_places() -> dict[str, Subject]:
    """Every class that decodes places, fitted well, with the table given as places."""

    def subject(name: str, taking: list[str]) -> Subject:
        def steps(X: Any) -> Steps:
            model = _good_fit(name)
            q = model.transform(base()).shape[1]
            for verb in taking:
                yield verb, lambda verb=verb: kept(verb, getattr(model, verb)(cut(X, q)))

        def kept(verb: str, answer: Any) -> Any:
            return np.nan_to_num(answer) if name in KEEPS_GAPS else answer

        return steps

    classes = {e.class_name: getattr(lowdim, e.class_name) for e in ENTRIES if e.public}
    taking = {
        name: [v for v in verbs(cls) if callable(f := getattr(cls, v)) and "Z" in inspect.signature(f).parameters]
        for name, cls in classes.items()
    }
    return {f"places for {name}": subject(name, verbs_) for name, verbs_ in taking.items() if verbs_}


@cache
def _good_fit(name: str) -> Any:
    """A class fitted to the plain table, once in a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(lowdim, name)(**QUICK.get(name, [{}])[0]).fit(base(), *([labels(base())] * (name in LABELLED)))


def cut(X: Any, q: int) -> Any:
    """An array of numbers with as many columns as places have, so that it can be meant as such; all else as it is."""
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] and not np.ma.isMA(X)
    return X[:, (np.arange(q) + 1) % X.shape[1]] if is_table else X  # many tables are spoilt in their second column


def verbs(cls: type) -> list[str]:
    """The public verbs of a class; `transform` first, because others work on its places."""
    names = [n for n in dir(cls) if not n.startswith("_") and n not in NOT_VERBS and not n.endswith("_request")]
    kinds = {n: inspect.getattr_static(cls, n) for n in names}
    ours = [
        n
        for n, kind in kinds.items()
        if isinstance(kind, property) or (callable(kind) and not isinstance(kind, Absent))
    ]
    return sorted(ours, key=lambda n: (n != "transform", n))


def call(verb: Callable[..., Any], X: Any, Z: Any) -> Any:
    """A verb with the arguments it asks for by name."""
    known = {
        "X": X,
        "Z": Z,
        "labels": labels(X),
        "n": 2,
        "n_samples": 2,
        "users": [0, 1],
        "items": [0, 1],
        "user": 0,
        "values": [1.0, 2.0],
        "columns": None,
        "share": 0.9,
    }
    parameters = inspect.signature(verb).parameters.values()
    needed = {p.name: known[p.name] for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
    asked = {p.name: True for p in parameters if p.name == "return_std"}
    if verb.__name__ == "predict" and "items" in inspect.signature(verb).parameters:
        needed["items"] = known["items"]
    if verb.__name__ == "score" and isinstance(verb.__self__, ClassifierMixin):
        needed["y"] = labels(X)
    answer = verb(**needed, **asked)
    return np.nan_to_num(answer) if verb.__name__ == "quantile" else answer  # labels have no order, and no quantile


# functions ------------------------------------------------------------------------------------------------
PLACES = np.column_stack([np.cos(np.arange(16)), np.sin(np.arange(16))])


def places_for(X: Any) -> Any:
    """Places for as many rows as the table has."""
    n = len(labels(X))
    return np.resize(PLACES, (n, 2))


def in_file(f: Callable[[Any], Any], X: Any) -> Any:
    """f of a file that holds the table."""
    with tempfile.TemporaryDirectory() as folder:
        return f(write(X, Path(folder) / "t.csv"))


def write(X: Any, path: Path) -> Path:
    """The table as a CSV, as pandas writes it."""
    import pandas as pd
    import polars as pl
    import scipy.sparse as sp

    if isinstance(X, pl.LazyFrame):
        X = X.collect()
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if sp.issparse(X):
        X = X.toarray()
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.ma.filled(X, np.nan) if np.ma.isMA(X) else X)
    if not isinstance(X, pd.DataFrame):
        frame.columns = [f"c{j + 1}" for j in range(frame.shape[1])]
    frame.to_csv(path, index=False)
    return path


def whole(source: Any) -> Any:
    """All of a source, where it has anything to be walked for."""
    if source.n == 0:
        raise lowdim.messages.error("LD160", n=0, least=1)
    x, mask = gather(source)
    return x if mask is None else np.where(mask, x, 0.0)


def of_table(table: Any) -> dict[str, Any]:
    """The numbers of a table that was read, its gaps aside, and what was said of it."""
    return {"X": np.where(np.isnan(table.X), 0.0, table.X), "messages": table.messages}


def plain(record: Any) -> Any:
    """A record of ours as its fields."""
    return vars(record) if hasattr(record, "__dict__") and type(record).__module__.startswith("lowdim.") else record


CALLS: dict[str, Callable[[Any], Any]] = {
    "as_source": lambda X: whole(lowdim.as_source(X)),
    "best_of": lambda X: lowdim.best_of(lowdim.KMeans(2), X, 2),
    "choose_clusters": lambda X: lowdim.choose_clusters(X, ks=(1, 2)),
    "choose_dimension": lambda X: lowdim.choose_dimension(X, most=2, folds=2, shuffles=3),
    "compare": lambda X: lowdim.compare(X, ("pca", "random"), dims=1, seeds=1),
    "distance_law": lambda X: lowdim.distance_law(X, pairs=100),
    "embedding_score": lambda X: lowdim.embedding_score(places_for(X), X),
    "embedding_score of a map": lambda X: lowdim.embedding_score(X, places_for(X)),
    "fill": lambda X: lowdim.fill(X, 1, folds=2),
    "fit_method": lambda X: lowdim.fit_method(X, "ppca", dims=1),
    "judge_map": lambda X: lowdim.judge_map(X, places_for(X), k=3),
    "judge_map of a map": lambda X: lowdim.judge_map(places_for(X), X, k=3),
    "odd_rows": lambda X: lowdim.odd_rows(X, dims=1),
    "procrustes": lambda X: lowdim.procrustes(X, X),
    "procrustes to places": lambda X: lowdim.procrustes(X, places_for(X)),
    "read": lambda X: of_table(lowdim.read(X)),
    "robust_fit": lambda X: lowdim.robust_fit(X, 1),
    "robust_map": lambda X: lowdim.robust_map(X, 1, max_iter=10),
    "rotate": lambda X: lowdim.rotate(X, max_iter=20),
    "rotate by promax": lambda X: lowdim.rotate(X, "promax", max_iter=20),
    "subject": lambda X: of_table(lowdim.subject(lowdim.fit_method(X, "pca", dims=1)).table),
    "total_least_squares": lambda X: lowdim.total_least_squares(X, np.arange(len(labels(X)), dtype=float)),
}
# What has an answer for these although most have none: one axis is a map, and a
# person's table may hold texts, objects and durations, and columns without numbers.
ONE_AXIS = {"1-d", "a pandas series", "a polars series"}
PERSONS = {"texts that are numbers", "spans of time", "objects that are texts", "objects of any kind", "lists in cells"}
SENSIBLE = {
    "places for VarianceSelector": {"gaps only", "a column of gaps", "all masked", "a single seen cell"},
    "embedding_score": ONE_AXIS,
    "embedding_score of a map": ONE_AXIS,
    "judge_map of a map": ONE_AXIS,
    "MixedFactorAnalysis": {"texts that are numbers"},
    **dict.fromkeys(("analyse", "fit_method", "odd_rows", "read", "subject"), PERSONS),
    "as_source": {"gaps only", "a column of gaps", "a single seen cell", "all masked"},
}
ELSEWHERE = {  # what takes no table: records, other names of the same thing, files (which the fuzzer writes)
    "Moments",
    "Run",
    "PPCA",
    "analyze",
    "load",
    "load_run",
    "best_of_checkpoint",
    "explore",
    "analyse_stream",
    "stream",
}


def subjects_of_functions() -> dict[str, Subject]:
    """Every function, with the arguments of `CALLS`, else with the table alone."""
    calls = {name: getattr(lowdim, name) for name in FUNCTIONS if name not in ELSEWHERE} | CALLS

    def subject(name: str, f: Callable[[Any], Any]) -> Subject:
        return lambda X: iter([(name, lambda: plain(f(X)))])

    return {name: subject(name, f) for name, f in calls.items()}


def every_subject() -> dict[str, Subject]:
    """All of them by name."""
    classes = [entry.class_name for entry in ENTRIES if entry.public]
    of_classes = {name: s for cls in classes for name, s in subjects_of_class(cls).items()}
    return {**of_classes, **subjects_of_places(), **subjects_of_functions(), **subjects_of_commands()}


# commands ---------------------------------------------------------------------------------------------------
COMMANDS: dict[str, list[str]] = {
    "check": ["TABLE"],
    "odd": ["TABLE", "--dims", "1"],
    "fill": ["TABLE", "-o", "filled.csv"],
    "dims": ["TABLE"],
    "fit": ["TABLE", "-m", "pca", "--dims", "1", "-o", "map"],
    "apply": ["RUN", "TABLE"],
    "compare": ["TABLE", "--methods", "pca,random", "--dims", "1"],
    "report": ["TABLE", "--dims", "1", "-o", "whole"],
}
EVERY = {"lowdim compare": 8, "lowdim report": 16}  # what takes a second is given some of the tables only


class RefusedError(LowdimError):
    """What the command said when it refused a table."""


@cache
def _run_folder() -> Path:
    """A run of the plain table, made once in a process."""
    folder = Path(tempfile.mkdtemp())
    write(base(), folder / "plain.csv")
    assert in_process("fit", "plain.csv", "--dims", "1", "-o", "run", "--quiet", cwd=folder).code == 0
    return folder / "run"


def command(name: str, X: Any) -> Any:
    """`lowdim NAME` of a file that holds the table, as JSON; None where no file can hold it."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                write(X, table)
        except Exception:
            return None
        words = {"TABLE": "table.csv", "RUN": str(_run_folder()) if "RUN" in COMMANDS[name] else ""}
        arguments = [words.get(word, word) for word in COMMANDS[name]]
        said = in_process(name, *arguments, "--json", cwd=Path(folder))
    facts = json.loads(said.out) if said.out.strip() else {}  # NaN and Infinity are read as such, and found
    if said.code in (0, 1, 5):
        return facts
    problem = RefusedError(f"exit code {said.code}: {said.out[-300:]} {said.err[-300:]}")
    last = (facts.get("messages") or [{}])[-1]
    if said.code in (3, 4, 6):
        problem.code, problem.fix = last.get("code", ""), last.get("fix", "")
    raise problem


def subjects_of_commands() -> dict[str, Subject]:
    """Every command that is given a table."""

    def subject(name: str) -> Subject:
        return lambda X: iter([(f"lowdim {name}", lambda: command(name, X))])

    return {f"lowdim {name}": subject(name) for name in COMMANDS}
