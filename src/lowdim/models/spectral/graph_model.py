"""What the methods of neighbourhoods share: the graph of the rows, its pieces, and where new rows join it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.engine.fold import Run
from lowdim.math.distances import SAME, Fault, fault
from lowdim.math.eigen import DENSE
from lowdim.math.graph import bridges, by_size, components
from lowdim.math.linalg import Array
from lowdim.math.neighbors import Neighbours, Pairs, joined, joined_known, nearest, nearest_known
from lowdim.models.base.estimator import COUNT, Out, Rule
from lowdim.models.base.spectral import Embedded, SpectralModel
from lowdim.models.spectral.random_field import FieldMixin
from lowdim.sources.arrays import SparseSource, as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, frame_of, gather
from lowdim.text.messages import error, warn

Rows = NDArray[np.intp]
PIECES = Rule(lambda v: v in ("bridge", "largest", "each"), "'bridge', 'largest' or 'each'")
METRIC = Rule(lambda v: v in ("euclidean", "precomputed", "graph"), "'euclidean', 'precomputed' or 'graph'")
DONE = {
    "bridge": "they are joined by the shortest edges that do it, whose lengths the map is least sure of",
    "largest": "the map is of the largest; other rows (left_out_) are placed by their neighbours in it",
    "each": "each has a map of its own: places in different pieces (pieces_) cannot be compared",
}
EQUAL = 1e-9  # two eigenvalues closer than this share of them are equal
LAST = "the next axis has the same eigenvalue as the last: which of them is shown is arbitrary"
SHOWN = 8  # sizes of pieces that are written out


class Web(NamedTuple):
    """The neighbourhood graph of the rows that differ."""

    points: Array  # m x d cells, m x m distances, or m x 0 where only a graph was given
    pairs: Pairs  # each row with its neighbours, one way
    radius: Array  # distance of the k-th neighbour
    label: Rows  # the piece of each row, the largest first
    bridges: Pairs  # edges between pieces that were added
    k: int

    @property
    def m(self) -> int:
        return len(self.label)

    @property
    def maps(self) -> int:
        """Maps that are made: one, or one for each piece."""
        return 1 if len(self.bridges.i) else int(self.label.max()) + 1


class NeighbourhoodModel(FieldMixin, SpectralModel):
    """A map from the graph that joins each row to its neighbours; models write `_map` and `_extend`.

    Equal rows are one. A graph in pieces is said to be, with their sizes, and dealt with by `pieces`. "precomputed"
    is a matrix of distances, in which NaN says that one is not known; "graph" is a matrix of edges.
    """

    n_neighbors: int
    metric: str
    pieces: str
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_neighbors": COUNT,
        "metric": METRIC,
        "pieces": PIECES,
    }

    def _map(self, web: Web, rows: Rows) -> Embedded:
        """Places of the m rows of the web, which are these `rows` of the table."""
        raise NotImplementedError

    def _of_pairs(self) -> bool:
        return self.metric != "euclidean"

    # the table ------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:
        """Map the rows of a complete table, or of a matrix of pairs; `y` is ignored."""
        return super().fit(self._edges(X), y, run=run)

    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Places of rows, old or new, by one formula; for a matrix of pairs, new rows against the training rows."""
        return super().transform(self._edges(X), out=out, run=run)

    def _edges(self, X: Any) -> Any:
        """Cells that a sparse matrix of pairs does not store are no edges."""
        return as_source(X, zeros="gaps") if self._of_pairs() and sp.issparse(X) else X

    def _frame(self, source: Source) -> Frame:
        return frame_of(source.sample(FRAME_ROWS), origin=not self._of_pairs())

    def _whole(self, source: Source, frame: Frame) -> Any:
        if not self._of_pairs():
            return super()._whole(source, frame)
        if source.n != source.d:
            problem = f"it has {source.n} rows and {source.d} columns, and is not square"
            raise error("LD410", what=self._kind(), problem=problem)
        if isinstance(source, SparseSource) and self.metric == "graph":
            return self._checked(sp.csr_array(source.values * frame.scale[0]))
        x, mask = gather(Framed(source, frame))
        return self._checked(self._unknown(x, mask))

    def _unknown(self, x: Array, mask: Any) -> Array:
        """Cells without a number are infinitely far."""
        return x if mask is None else np.where(mask, x, np.inf)

    def _kind(self) -> str:
        return "distances"

    def _checked(self, D: Any) -> Any:
        """Refuse what is no matrix of distances, naming the cell; one known one way only is known."""
        D = filled(D) if sp.issparse(D) else np.where(np.isfinite(D), D, D.T)
        wrong = sparse_fault(D) if sp.issparse(D) else fault(np.where(np.isfinite(D), D, 0.0))
        if wrong is not None:
            raise error("LD410", f"row {wrong.i + 1}, column {wrong.j + 1}", what=self._kind(), problem=wrong.problem)
        return D

    def _placed(self, block: Block) -> Array:
        if not self._of_pairs():
            return super()._placed(block)
        return self._extend(self.params_, self._unknown(self.frame_.inward(block).x, block.mask))

    # the graph ------------------------------------------------------------------------------------
    def _embed(self, X: Any, run: Run) -> Embedded:
        first, node = self._distinct(X)
        if len(first) < 2:
            raise error("LD431", n=X.shape[0])
        web = self._web(X if len(first) == X.shape[0] else self._part(X, first))
        sizes = by_size(web.label)[1]
        web, kept = self._whole_of(web)
        most = (web.m if web.maps == 1 else int(sizes[0])) - 1
        if self.n_components > most:
            raise error("LD200", asked=self.n_components, most=most, why=f"{most + 1} rows span no more dimensions")
        found = self._map(web, first[kept])
        at = np.full(len(first), -1, dtype=np.intp)
        at[kept] = np.arange(len(kept))
        out = np.flatnonzero(at[node] < 0)
        Z = found.Z[np.maximum(at[node], 0)]
        if len(out):
            Z[out] = self._extend(found.params, X[out])
        label = self._labels(web, at, node, sizes)
        made = {
            "n_pieces_": len(sizes),
            "piece_sizes_": sizes,
            "pieces_": label,
            "left_out_": out,
            "rows_": first[kept],
            "node_": at[node],
            "n_neighbors_": web.k,
            **found.made,
        }
        return found._replace(Z=Z, made=made, notes=found.notes + self._notes(web, sizes, X.shape[0] - len(first)))

    def _distinct(self, X: Any) -> tuple[Rows, Rows]:
        """The first of each set of equal rows, in their order, and which of them each row is."""
        n = X.shape[0]
        if self.metric == "graph" or (self.metric == "euclidean" and np.diff(np.sort(X[:, 0])).all()):
            return np.arange(n), np.arange(n)  # no two rows begin alike
        if self.metric == "precomputed":
            label = components(sp.csr_array(X == 0.0))[1]
        else:
            plain = np.ascontiguousarray(X + 0.0)  # without negative zeros
            whole = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
            label = np.unique(whole, return_inverse=True)[1].reshape(n)
        first, inverse = np.unique(label, return_index=True, return_inverse=True)[1:]
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return first[order], rank[inverse.reshape(n)]

    def _part(self, X: Any, rows: Rows) -> Any:
        return X[rows][:, rows] if self._of_pairs() else X[rows]

    def _web(self, X: Any) -> Web:
        m = X.shape[0]
        k = m - 1 if self.metric == "graph" else min(self.n_neighbors, m - 1)
        if k < self.n_neighbors and self.metric != "graph":
            warn("LD432", model=type(self).__name__, asked=self.n_neighbors, n=m, most=k)
        if self.metric == "graph":
            G = sp.coo_array(X if sp.issparse(X) else np.where(np.isfinite(X), X, 0.0))
            keep = G.data != 0.0
            pairs, radius = Pairs(G.row[keep].astype(np.intp), G.col[keep].astype(np.intp), G.data[keep]), np.zeros(m)
            X = np.zeros((m, 0))
        else:
            pairs, radius = joined(X, k) if self.metric == "euclidean" else joined_known(X, k)
        label = components(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(m, m)))[1]
        none = pairs.chosen(np.zeros(0, dtype=np.intp))
        return Web(X, pairs, radius, by_size(label)[0], none, k)

    def _whole_of(self, web: Web) -> tuple[Web, Rows]:
        """The web that is mapped and the rows it is of: all of it, bridged or piece by piece, or its largest piece."""
        every = np.arange(web.m)
        sizes = np.bincount(web.label)
        if len(sizes) == 1:
            return web, every
        words = ", ".join(map(str, sizes[:SHOWN])) + (" ..." if len(sizes) > SHOWN else "")
        warn("LD430", count=len(sizes), sizes=words, done=DONE[self.pieces], k=web.k)
        if self.pieces == "each":
            return web, every
        if self.pieces == "bridge":
            pairs = None if self.metric == "graph" else bridges(web.label, web.points, known=self._of_pairs())
            if pairs is None or len(pairs.i) < len(sizes) - 1 or not np.isfinite(pairs.d).all():
                raise error("LD433", count=len(sizes), pieces=self.pieces)
            return web._replace(bridges=pairs), every
        if self.metric == "graph":
            raise error("LD433", count=len(sizes), pieces=self.pieces)
        kept = np.flatnonzero(web.label == 0)
        at = np.full(web.m, -1, dtype=np.intp)
        at[kept] = np.arange(len(kept))
        pairs = web.pairs.chosen(at[web.pairs.i] >= 0)
        return Web(
            self._part(web.points, kept),
            Pairs(at[pairs.i], at[pairs.j], pairs.d),
            web.radius[kept],
            np.zeros(len(kept), dtype=np.intp),
            web.bridges,
            min(web.k, len(kept) - 1),
        ), kept

    def _labels(self, web: Web, at: Rows, node: Rows, sizes: Rows) -> Rows:
        """The piece of each row of the table; those left out of the largest are numbered together, as 1."""
        label = np.where(at[node] >= 0, web.label[np.maximum(at[node], 0)], min(1, len(sizes) - 1))
        return label.astype(np.int64)

    def _notes(self, web: Web, sizes: Rows, copies: int) -> tuple[str, ...]:
        notes = [f"{len(sizes)} pieces ({self.pieces})"] if len(sizes) > 1 else []
        if copies:
            notes.append(f"{copies} rows equal others: equal rows are one in the graph and share a place")
        return tuple(notes)

    def _nodes(self) -> Rows | None:
        """For the random field: the mapped row that each row is, or None where every row is its own."""
        n = len(self.embedding_)
        if len(self.rows_) == n or len(self.left_out_):
            return None
        return np.asarray(self.node_, dtype=np.intp)

    # new rows --------------------------------------------------------------------------------------
    def _near(self, points: Array, rows: Rows, X: Array, k: int) -> Neighbours:
        """The k nearest of the mapped rows, each row itself among them at distance zero."""
        if self.metric == "euclidean":
            return nearest(X, k, points)
        found = nearest_known(self._lengths(X[:, rows]), k)
        alone = np.flatnonzero(~np.isfinite(found.distance[:, 0]))
        if len(alone):
            raise error("LD434", f"row {alone[0] + 1}", count=len(alone))
        return found

    def _lengths(self, D: Array) -> Array:
        """Distances of new rows to the mapped ones, infinite where there is no edge."""
        if D.min(initial=0.0) < 0.0:
            i, j = np.argwhere(D < 0.0)[0]
            raise error(
                "LD410",
                f"row {i + 1}, column {j + 1}",
                what=self._kind(),
                problem=f"a distance is negative: {D[i, j]:g}",
            )
        return D


def filled(G: sp.csr_array) -> sp.csr_array:
    """A graph in which an edge given one way goes both ways."""
    back = sp.csr_array(G.T)
    return sp.csr_array(G + back - back.multiply(G != 0))


def sparse_fault(G: sp.csr_array, *, loops: bool = False) -> Fault | None:
    """What is wrong with a sparse matrix of pairs, as `fault` says of a dense one; `loops` allows a diagonal."""
    size = float(abs(G).max()) if G.nnz else 0.0
    gap = sp.coo_array(abs(G - G.T))
    if gap.nnz and gap.data.max() > SAME * size:
        at = int(np.argmax(gap.data))
        i, j = int(gap.row[at]), int(gap.col[at])
        return Fault(f"it is not symmetric: {G[i, j]:g} one way and {G[j, i]:g} the other", i, j)
    C = sp.coo_array(G)
    bad = np.flatnonzero((C.data < 0.0) | ((C.row == C.col) & (C.data > SAME * size) & (not loops)))
    if not len(bad):
        return None
    i, j, value = int(C.row[bad[0]]), int(C.col[bad[0]]), C.data[bad[0]]
    return Fault(f"{value:g} is no length or weight here", i, j)


def asked(q: int, m: int) -> int:
    """Eigenpairs to compute for q axes of m rows: one more where it costs nothing, to see whether it is equal."""
    return min(q + (m <= DENSE), m - 1)


def equal_values(values: Array, q: int, least: float = 1e-15) -> tuple[str, ...]:
    """What there is to say of eigenvalues that are equal: their vectors are any of their common space."""
    same = np.flatnonzero(np.abs(np.diff(values)) <= EQUAL * np.maximum(values[1:], values[:-1]) + least)
    inside = [f"{a + 1} and {a + 2}" for a in same if a + 1 < q]
    notes = [f"axes {', '.join(inside)} have equal eigenvalues: their plane is determined, their directions are not"]
    return tuple(notes if inside else []) + ((LAST,) if q - 1 in same else ())
