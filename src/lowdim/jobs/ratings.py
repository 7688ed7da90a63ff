"""A list of ratings, learnt: how well held-out ones are predicted, what the tastes are, and what to recommend."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run
from lowdim.jobs.run_folder import saving, write
from lowdim.maths.linalg import Array
from lowdim.models.ratings.factorization import MatrixFactorization
from lowdim.models.ratings.predictions import Evaluation, Recommended
from lowdim.sources.ratings import Ratings, as_ids, as_ratings, is_triples, look_up, triple_table
from lowdim.storage.model_file import load
from lowdim.table.kinds import name_words
from lowdim.table.whole_table import rating_names
from lowdim.text.csv_table import csv_table
from lowdim.text.format import count
from lowdim.text.messages import error

HELD_SHARE = 0.1  # of the ratings, held out to say how good the predictions are
MOST_HELD = 1_000_000
LEAST_HELD = 10  # ratings held out, from which an error can be said
MOST_DIMENSIONS = 10  # that are offered where none is asked for; those not needed are switched off
ENDS = 5  # items at each end of a taste that are named
MODEL = "model.lowdim"
NAME_WORDS = {"name", "title", "label"}


class HeldOutRatings(NamedTuple):
    """How ratings that were held out are predicted: by the model, by users' and items' means, by the mean of all."""

    model: Evaluation
    biases: float  # root mean squared errors
    mean: float


class Rated(NamedTuple):
    """Ratings and what was learnt of them."""

    name: str
    ratings: int
    users: int
    items: int
    model: MatrixFactorization
    held: HeldOutRatings | None  # None where there are too few
    names: Mapping[str, str] = {}  # of items by their ids, where a file of items has them

    def called(self, item: Any) -> str:
        """An item by its name, or by its id."""
        return self.names.get(str(item), str(item))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person would repeat."""
        filled = self.ratings / (self.users * self.items)
        first = (
            f"{self.name} has {self.ratings:,} ratings of {count(self.items, 'item')} by {count(self.users, 'user')}: "
            f"{100 * filled:.2g}% of all pairs."
        )
        kept = int(self.model.n_kept_)
        tastes = f"{count(kept, 'taste')} of {self.model.n_components_} tried tell users apart." if kept else NO_TASTES
        return (first, self._errors(), tastes, *self._liked())

    def text(self) -> str:
        """The sentences, numbered."""
        return "".join(f"  {number}. {sentence}\n" for number, sentence in enumerate(self.sentences, 1))

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it, and the tastes."""
        tastes = [{"taste": k, "more": more, "less": less} for k, more, less in self.tastes()]
        return {"sentences": list(self.sentences), "held_out": self.held, "tastes": tastes}

    def _errors(self) -> str:
        if self.held is None:
            return "There are too few ratings to hold any out and say how good the predictions are."
        h = self.held
        return (
            f"Of {h.model.ratings:,} ratings held out the error is {h.model.rmse:.3f}; users' and items' means alone "
            f"{h.biases:.3f}, the mean of all {h.mean:.3f}. The 90% intervals held {h.model.coverage:.0%}."
        )

    def _liked(self) -> tuple[str, ...]:
        if self.items < 2:
            return ()
        names = in_a_row([line[0] for line in self.liked()[:ENDS]])
        return (f"Rated highest by a typical user, doubt counted against an item: {names}.",)

    def liked(self, most: int = 20) -> list[tuple[str, float, float]]:
        """Items that a typical user rates highest, mean and sd of the mean; one sd is taken off in their order."""
        m = self.model
        mean, sd = m.mean_ + m.item_bias_, m.item_bias_std_
        order = np.argsort(-(mean - sd), kind="stable")[:most]
        return [(self.called(ids_of(m, "item")[i]), float(mean[i]), float(sd[i])) for i in order]

    def tastes(self) -> list[tuple[int, list[str], list[str]]]:
        """Each taste that is needed, and the items at its two ends, doubt counted as in `liked`."""
        m, ids = self.model, ids_of(self.model, "item")
        found = []
        for k in np.flatnonzero(m.kept_):
            w, sd = m.item_factors_[:, k], m.item_factors_std_[:, k]
            low, high = np.argsort(w + sd, kind="stable")[:ENDS], np.argsort(-(w - sd), kind="stable")[:ENDS]
            more, less = ([self.called(ids[i]) for i in end] for end in (high, low))
            found.append((int(k) + 1, more, less))
        return found


def in_a_row(names: list[str]) -> str:
    """Names one after the other, told apart also where they have commas."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


NO_TASTES = "No taste tells users apart: items' and users' means say all that these ratings say."


def learn_ratings(
    table: Any,
    *,
    columns: tuple[str, str, str] | None = None,
    dims: int | str = "auto",
    duplicates: str = "error",
    random_state: int = 0,
    items: Any = None,
    run: Run | None = None,
) -> Rated:
    """Learn users and items from a list of ratings: what `lowdim ratings FILE` does.

    Parameters
    ----------
    table : path, data frame or sparse matrix
        A row for each rating: user, item, rating; or users by items.
    columns : three names, optional
        The columns of user, item and rating; found by their names where a table has more than three.
    dims : int or "auto", default "auto"
        Dimensions to fit; "auto" offers ten and switches off those that are not needed.
    duplicates : {"error", "mean", "last"}, default "error"
        What several ratings of one pair mean.
    random_state : int, default 0
        Seed of the ratings that are held out.
    items : path or data frame, optional
        What the items are called: ids in its first column, names in the one called title or name, else in the second.
    run : Run, optional
        How to run.

    Returns
    -------
    Rated
        `.model` is the `MatrixFactorization` of all ratings, `.sentences` what is said of them, `.held` how well
        ratings that were held out of another fit are predicted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 3 + rng.normal(size=(90, 1)) * rng.normal(size=20) + 0.3 * rng.normal(size=(90, 20))
    >>> X[rng.random(X.shape) < 0.5] = np.nan
    >>> found = learn_ratings(X, dims=1)
    >>> found.users, found.items, bool(found.held.model.rmse < found.held.biases)
    (90, 20, True)
    """
    name = Path(table).name if isinstance(table, str | PathLike) else "The table"
    q = MOST_DIMENSIONS if dims == "auto" else int(dims)
    names = {} if items is None else item_names(items)
    ratings = as_ratings(_three(table, columns), duplicates=duplicates)
    low, high = (float(end(ratings.matrix.data)) for end in (np.min, np.max)) if ratings.matrix.nnz else (0.0, 1.0)
    how: dict[str, Any] = {"min_rating": low, "max_rating": high} if low < high else {}
    fitting: dict[str, Any] = {} if run is None else {"run": run}
    model = MatrixFactorization(q, **how).fit(ratings, **fitting)
    held = _held_out(ratings, q, how, random_state, fitting)
    return Rated(name, int(ratings.matrix.nnz), ratings.n, ratings.d, model, held, names)


def item_names(table: Any) -> dict[str, str]:
    """What items are called, by their ids: a table of ids and names."""
    whole = triple_table(table)
    heads = [str(name) for name in whole.column_names]
    named = [k for k, head in enumerate(heads) if k and set(name_words(head)) & NAME_WORDS]
    if len(heads) < 2:
        raise error("LD270", d=len(heads), names=", ".join(heads))
    ids, names = (whole.column(k).to_pylist() for k in (0, named[0] if named else 1))
    return {str(one): str(name) for one, name in zip(ids, names, strict=True) if name not in (None, "")}


def _three(table: Any, columns: tuple[str, str, str] | None) -> Any:
    """The table, its three columns chosen by name where it has more."""
    if not is_triples(table):
        return table
    whole = triple_table(table)
    names = [str(name) for name in whole.column_names]
    if columns is None and len(names) > 3:
        columns = rating_names(names)
        if columns is None:
            raise error("LD270", d=len(names), names=", ".join(names[:8]))
    if columns is not None:
        from lowdim.sources.arrow_rows import position

        whole = whole.select([position(column, names, "columns") for column in columns])
    return whole


def _held_out(ratings: Ratings, q: int, how: dict[str, Any], seed: int, fitting: dict[str, Any]) -> Any:
    """A tenth of the ratings held out, predicted by a fit to the others."""
    import scipy.sparse as sp

    u, i, values = ratings.places()
    many = min(int(HELD_SHARE * len(values)), MOST_HELD)
    if many < LEAST_HELD:
        return None
    out = np.zeros(len(values), dtype=bool)
    out[np.random.default_rng(seed).choice(len(values), many, replace=False)] = True

    def part(which: NDArray[np.bool_]) -> Any:
        return sp.csr_array((values[which], (u[which], i[which])), shape=(ratings.n, ratings.d))

    rest, held = part(~out), part(out)
    model, biases = (MatrixFactorization(k, **how).fit(rest, **fitting) for k in (q, 0))
    flat: Array = values[out] - values[~out].mean()
    return HeldOutRatings(model.evaluate(held), biases.evaluate(held).rmse, float(np.sqrt((flat**2).mean())))


def ids_of(model: MatrixFactorization, side: str) -> NDArray[Any]:
    """The ids of the "item"s or the "user"s, or their places where the fit was to a matrix."""
    fitted = vars(model)
    return np.asarray(fitted.get(f"{side}_ids_", np.arange(len(fitted[f"{side}_bias_"]))))


def recommend(model: MatrixFactorization, user: Any, top: int) -> Recommended:
    """The items a user is expected to rate highest; one who has rated nothing is refused."""
    ids = ids_of(model, "user")
    if look_up(as_ids([user], "users", "user"), ids)[0] < 0:
        known = ", ".join(str(one) for one in ids[:5])
        raise error("LD210", option="user", value=user, allowed=f"a user of these ratings, such as {known}")
    return model.recommend(user, top)


# files --------------------------------------------------------------------------------------------------
def save_rated(rated: Rated, folder: str | PathLike[str]) -> Path:
    """Write the model, and users and items as tables."""
    folder, m = saving(folder), rated.model
    m.save(folder / MODEL)
    parts = (
        ("user", m.user_bias_, m.user_bias_std_, m.user_factors_, m.user_factors_std_),
        ("item", m.item_bias_, m.item_bias_std_, m.item_factors_, m.item_factors_std_),
    )
    kept = np.flatnonzero(m.kept_)
    for side, bias, sd, factors, factor_sd in parts:
        head = [side, "mean", "mean_sd", *(f"taste{k + 1}" for k in kept), *(f"taste{k + 1}_sd" for k in kept)]
        cells = np.column_stack([m.mean_ + bias, sd, factors[:, kept], factor_sd[:, kept]]).tolist()
        rows = ([one, *line] for one, line in zip(ids_of(m, side).tolist(), cells, strict=True))
        write(folder / f"{side}s.csv", csv_table(head, rows))
    return folder


def load_rated(folder: str | PathLike[str]) -> MatrixFactorization:
    """The model of a folder that `save_rated` wrote."""
    path = Path(folder) / MODEL
    model = load(path) if path.is_file() else None
    if not isinstance(model, MatrixFactorization):
        raise error("LD332", path=folder, file=MODEL)
    return model
