"""Tables that are not rows of measurements: distances between their own rows, correlations, and ratings by users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.column import Column
from lowdim.table.kinds import is_whole, name_words
from lowdim.table.open_file import Place
from lowdim.table.options import ReadingOptions, asked_role
from lowdim.text.escape import shell_word
from lowdim.text.fix import Fix, Part, Spelling, choices, propose
from lowdim.text.messages import Notes, error

MOST_USED = 50  # columns that a proposed flag names
LEAST_PAIR_ROWS = 4  # rows from which a symmetric table is no accident
LEAST_SHARE = 0.4  # of the pairs that must be there, the same both ways, where others are missing
SYMMETRY = 1e-6  # relative difference of d_ij and d_ji
LEAST_RATINGS = 20
LEAST_PANEL = 3  # units, and times of each, from which rows are a panel
PANEL_SHARE = 0.5  # of the pairs of a unit and a time that have a row
MOST_MARKS = 21  # different marks a rating may have: 0 to 10 in halves
USER_WORDS = {"user", "userid", "uid", "customer", "reviewer", "rater", "respondent", "person", "member", "client"}
ITEM_WORDS = {
    "item", "itemid", "movie", "movieid", "film", "book", "product", "asin", "isbn", "artist", "song", "track",
    "business", "restaurant", "title", "anime", "joke", "beer", "wine", "game", "show",
}  # fmt: skip
RATING_WORDS = {"rating", "ratings", "stars", "star", "score", "mark", "vote", "preference", "review", "overall"}


def is_distances(X: Array) -> bool:
    """Whether a table is square and symmetric, of distances: zero in the diagonal and nowhere below it.

    >>> x = np.array([0.0, 1, 3, 7])
    >>> is_distances(np.abs(x[:, None] - x)), is_distances(np.eye(4))
    (True, False)
    """
    n, d = X.shape
    if n != d or n < LEAST_PAIR_ROWS:
        return False
    if np.isnan(X).all() or np.nanmin(X) < 0 or not np.isfinite(np.nanmax(X)) or (np.nan_to_num(np.diag(X)) != 0).any():
        return False
    full, size = mirrored(X), float(np.nanmax(X))
    below, above = X[np.tril_indices(n, -1)], X.T[np.tril_indices(n, -1)]
    pairs = full[np.tril_indices(n, -1)]
    known, both = ~np.isnan(pairs), ~np.isnan(below) & ~np.isnan(above)
    one_half = bool(np.isnan(below).all() or np.isnan(above).all())
    told = known.all() or (known if one_half else both).mean() >= LEAST_SHARE  # some pairs may be missing
    same = bool((np.abs(below - above)[both] <= SYMMETRY * size).all())
    return bool(size > 0 and told and same and (pairs[known] > 0).mean() > 0.5)


def is_correlations(X: Array) -> bool:
    """Whether a table is square and symmetric, of correlations: ones in the diagonal, nothing beyond them elsewhere.

    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> is_correlations(np.corrcoef(X.T).round(3)), is_correlations(np.ones((5, 5)))
    (True, False)
    """
    n, d = X.shape
    if n != d or n < LEAST_PAIR_ROWS or not (np.abs(np.diag(X) - 1) <= SYMMETRY).all():
        return False
    full = np.where(np.isnan(X), X.T, X)
    apart = full[~np.eye(n, dtype=bool)]
    within = bool(np.isfinite(apart).all() and (np.abs(apart) <= 1).all() and np.ptp(apart) > 0)
    return within and bool((np.abs(full - full.T) <= SYMMETRY).all()) and not set(np.unique(apart)) <= {0.0, 1.0}


def mirrored(X: Array) -> Array:
    """Distances with the half that is missing taken from the other, and zeros in the diagonal."""
    full = np.where(np.isnan(X), X.T, X)
    np.fill_diagonal(full, 0.0)
    return full


def rating_columns(names: list[str], values: list[NDArray[Any]]) -> tuple[str, str, str] | None:
    """User, item and rating where a table is a list of ratings: two names that repeat, no pair of them twice, a mark.

    >>> user, item = np.repeat(np.arange(10.0), 5), np.tile(np.arange(5.0), 10)
    >>> rating_columns(["user_id", "item_id", "rating"], [user, item, (user + item) % 5 + 1])
    ('user_id', 'item_id', 'rating')
    """
    if not 3 <= len(names) <= 4 or len(values[0]) < LEAST_RATINGS:
        return None
    found = [
        next((name for name in names if set(name_words(name)) & words), None)
        for words in (USER_WORDS, ITEM_WORDS, RATING_WORDS)
    ]
    if None in found or len(set(found)) < 3:
        return None
    user, item, mark = (names.index(str(name)) for name in found)
    v = values[mark]
    if v.dtype.kind != "f" or len(np.unique(v[~np.isnan(v)])) > MOST_MARKS or not is_whole(2 * v[~np.isnan(v)]):
        return None
    pairs = list(zip(values[user].tolist(), values[item].tolist(), strict=True))
    repeated = all(2 * len(set(values[k].tolist())) <= len(pairs) for k in (user, item))
    once = len(set(pairs)) >= 0.99 * len(pairs)
    return (names[user], names[item], names[mark]) if repeated and once else None


def is_panel(unit: NDArray[Any], time: NDArray[Any]) -> bool:
    """Whether rows are the same units seen again at the same times: most pairs of a unit and a time, once each.

    >>> is_panel(np.repeat(["Chile", "Ghana", "Nepal"], 4), np.tile([2001, 2002, 2003, 2004], 3))
    True
    """
    n = len(unit)
    u = np.unique([str(one) for one in unit], return_inverse=True)[1]
    t = np.unique([str(one) for one in time], return_inverse=True)[1]
    units, times = int(u.max(initial=-1)) + 1, int(t.max(initial=-1)) + 1
    if min(units, times) < LEAST_PANEL or n < PANEL_SHARE * units * times or max(units, times) > n / 2:
        return False
    return len(np.unique(u * times + t)) == n


def what_it_holds(columns: list[Column], options: ReadingOptions, place: Place, notes: Notes) -> str:
    """What the cells are: measurements, or distances or similarities between the rows."""
    numbers = [c for c in columns if c.role == "number"]
    n, d = len(place.lines), len(numbers)
    if options.pairs is not None:
        if n != d:  # a table that is not square holds neither
            raise error("LD199", place.name, name=place.name, pairs=options.pairs, n=n, d=d)
        return options.pairs
    asked = {c.name for c in numbers if asked_role(c.name, options)}
    # constant columns beside correlations say how they were made
    varied = [c for c in numbers if len(np.unique(c.values)) > 1] if d >= n > 0 else []
    square = len(varied) == n and not asked & {c.name for c in varied}
    if varied and square and is_correlations(np.column_stack([c.values for c in varied])):
        words = "analyse the table that they were computed from, a row for each observation\nmap the columns by them:  "
        mapped = _mapping(place.name, "similarities")
        fix = Fix(words, mapped, "\nthey are measurements:  ", propose(use=[c.name for c in varied[:MOST_USED]]))
        raise error("LD194", place.name, name=place.name, d=n, fix=fix)
    if asked or d < 2 or d != n or not is_distances(np.column_stack([c.values for c in numbers])):
        return "measurements"
    notes.add("LD192.table", place.name, **pair_facts(place.name, place.name, [c.name for c in numbers]))
    return "distances"


def pair_facts(name: str, file: str, columns: Iterable[str], pairs: str = "distances") -> dict[str, Any]:
    """What is said of a table of distances, or of similarities."""
    measured = propose(use=list(columns)[:MOST_USED])
    ways: list[tuple[str, Part]] = [(f"map the {pairs}", _mapping(file, pairs)), ("they are measurements", measured)]
    return {"name": name, "what": f"{pairs} {'between' if pairs == 'distances' else 'of'}", "fix": choices(ways)}


def _mapping(file: str, pairs: str) -> Spelling:
    """How pairs of rows are mapped."""
    python = f"ld.fit_method(ld.read({file!r}, pairs={pairs!r}), 'mds')"
    return Spelling(f"lowdim fit {shell_word(file)} -m mds --{pairs}", python)


def refuse_ratings(columns: list[Column], options: ReadingOptions, place: Place) -> None:
    if any(asked_role(c.name, options) for c in columns):
        return
    found = rating_columns([c.name for c in columns], [c.words if c.labels else c.values for c in columns])
    if found is not None:
        user, item, rating = found
        call = f"ld.MatrixFactorization(5, columns={found!r}).fit({place.name!r})"
        ways: list[tuple[str, Part]] = [
            ("learn who likes what, in Python", call),
            ("the columns are measurements", propose(use=list(found))),
        ]
        fix = choices(ways)
        raise error("LD193", place.name, name=place.name, user=user, item=item, rating=rating, fix=fix)
