"""What the methods of neighbourhoods share: the graph of the rows, its pieces, and where new rows join it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.fold import Run
from lowdim.maths.eigen import DENSE_ROWS, Eigen
from lowdim.maths.graph import bridges, components, matrix_of
from lowdim.maths.linalg import Array, Index, Mask
from lowdim.maths.pairs import Neighbours, RowPairs, joined, joined_known, mirrored, nearest, nearest_known, together
from lowdim.models.base.options import COUNT, check_components, one_of, option
from lowdim.models.spectral.completion import (
    Completion,
    TableRows,
    certain_limit,
    complete_rows,
    completion_of,
    mean_place,
    thinned_neighbors,
)
from lowdim.models.spectral.pair_table import check_lengths, check_pairs, check_square, known_either_way
from lowdim.models.spectral.spectral_model import SpectralFit, SpectralModel
from lowdim.sources.arrays import SparseSource, as_source
from lowdim.sources.source import Source
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, frame_of, gather
from lowdim.text.messages import error, warn

PIECES_DONE = {
    "bridge": "they are joined by the shortest edges that do it, whose lengths the map is least sure of",
    "largest": "the map is of the largest; other rows (left_out_) are placed by their neighbours in it",
    "each": "each has a map of its own: places in different pieces (pieces_) cannot be compared",
}
EQUAL_VALUES = 1e-9  # two eigenvalues closer than this share of them are equal
ARBITRARY_AXIS = "the next axis has the same eigenvalue as the last: which of them is shown is arbitrary"
SAME_ROW = 1e-9  # of the spread: inferred cells that differ by less are the same
NEIGHBORS_JOINED = "Neighbours each row is joined to, and any others as far as the last of them."
ONE_MAP = "A graph in pieces: joined by the shortest edges that do it, or only its largest mapped."
SIZES_IN_WORDS = 8  # sizes of pieces that are written out


class NeighbourGraph(NamedTuple):
    """The neighbourhood graph of the rows that differ."""

    points: Array  # m x d cells, m x m distances, or m x 0 where only a graph was given
    pairs: RowPairs  # each row with its neighbours, one way
    radius: Array  # distance of the k-th neighbour
    label: Index  # the piece of each row, the largest first
    bridges: RowPairs  # edges between pieces that were added
    k: int  # neighbours each row is joined to, of those
    asked: int  # that were asked for

    @property
    def m(self) -> int:
        return len(self.label)

    @property
    def n_maps(self) -> int:
        """Maps that are made: one, or one for each piece."""
        return 1 if len(self.bridges.i) else int(self.label.max()) + 1

    @property
    def map_label(self) -> Index:
        """The map each row is on."""
        return self.label if self.n_maps > 1 else np.zeros(self.m, dtype=np.intp)

    def map_rows(self) -> list[Index]:
        """The rows of each map."""
        if self.n_maps == 1:
            return [np.arange(self.m)]
        return [np.flatnonzero(self.label == piece) for piece in range(self.n_maps)]

    def edges(self) -> RowPairs:
        """Neighbours and bridges together."""
        return together(self.pairs, self.bridges)


class GraphModel(SpectralModel):
    """A map from the graph that joins each row to its neighbours; models write `_map_graph` and `_extend`.

    Equal rows are one. A graph in pieces is said to be, with their sizes, and dealt with by `pieces`. "precomputed"
    is a matrix of distances, in which NaN says that one is not known; "graph" is a matrix of edges.

    Attributes
    ----------
    rows_, node_ : ndarray
        The rows that are nodes of the graph (equal rows are one), and the node of each row, -1 where it is left out.
    n_pieces_, piece_sizes_, pieces_, left_out_ : int, ndarrays
        Pieces of the graph, their sizes, the piece of each row, and the rows not in the graph that was mapped.
    n_neighbors_ : int
        Neighbours in use.
    """

    n_neighbors: int = option(default=7, rule=COUNT, words=NEIGHBORS_JOINED)
    pieces: str = option(
        default="bridge",
        rule=one_of("bridge", "largest", "each"),
        words="A graph in pieces: joined by the shortest edges that do it, only its largest mapped, or a map for each.",
    )

    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        """Places of the m rows of the graph, which are these `rows` of the table."""
        raise NotImplementedError

    def _of_pairs(self) -> bool:
        return self.metric != "euclidean"

    # the fit ----------------------------------------------------------------------------------------
    def _embed(self, rows: TableRows, frame: Frame, run: Run) -> SpectralFit:
        """The map of the rows that are known well enough to be neighbours; the others lie where they may be."""
        n, k = len(rows.mean), self.n_neighbors
        if rows.completion is None or rows.mask is None:
            return self._map_rows(rows.mean, np.arange(n), n, k)
        # Rows whose unseen cells leave more open than neighbours are apart are nobody's neighbours, ...
        limit = certain_limit(rows, k, max(self.n_components + 2, k + 1))
        certain, far = np.flatnonzero(rows.open <= limit), np.flatnonzero(rows.open > limit)
        fit = self._map_rows(rows.mean[certain], certain, n, thinned_neighbors(k, len(certain), n))
        # ... and lie where the rows that they may be lie on average: E[z | seen cells].
        nodes = fit.attributes["rows_"]
        fit.Z[far] = mean_place(rows.completion, rows.mean[far], rows.mask[far], rows.mean[nodes], fit.Z[nodes])
        notes = (f"{len(far)} rows are too uncertain to be neighbours, and lie where they are expected",)
        return fit._replace(notes=fit.notes + notes * bool(len(far)), completion=rows.completion._replace(limit=limit))

    def _embed_pairs(self, source: Source, frame: Frame) -> SpectralFit:
        D = self._read_pairs(source, frame)
        return self._map_rows(D, np.arange(source.n), source.n, self.n_neighbors)

    def _map_rows(self, X: Any, known: Index, n: int, n_neighbors: int) -> SpectralFit:
        """The map of X, cells or pairs of the `known` rows of a table of n; the other rows have no place yet."""
        # Equal rows are one node.
        first, copy_of = distinct_rows(X, self.metric)
        if len(first) < 2:
            raise error("LD431", n=X.shape[0])
        # Each node is joined to its neighbours; what falls into pieces is bridged, mapped one by one, or left out.
        graph = self._build_graph(X if len(first) == X.shape[0] else self._subset(X, first), n_neighbors)
        sizes = np.bincount(graph.label)
        graph, mapped = self._join_pieces(graph)
        most = (graph.m if graph.n_maps == 1 else int(sizes[0])) - 1
        check_components(self.n_components, most, f"{most + 1} rows span no more dimensions")
        # The method's own part: the map of a graph.
        rows = known[first[mapped]]
        fit = self._map_graph(graph, rows)
        # Every known row is at its node, or placed as a new one if that is in another piece.
        node_of = np.full(len(first), -1, dtype=np.intp)
        node_of[mapped] = np.arange(len(mapped))
        node = np.full(n, -1, dtype=np.intp)
        node[known] = node_of[copy_of]
        loose = np.flatnonzero(node[known] < 0)
        fit = self._of_table(fit, graph, node, rows, sizes, X.shape[0] - len(first), known[loose])
        if len(loose):
            fit.Z[known[loose]] = self._extend(fit.params, X[loose])
        return fit

    def _of_table(
        self, fit: SpectralFit, graph: NeighbourGraph, node: Index, rows: Index, sizes: Index, copies: int, loose: Index
    ) -> SpectralFit:
        """The fit to the nodes of a graph as one to the table, whose rows are these nodes; -1 = none of them.

        `loose` rows belong to a piece that was not mapped; these pieces are numbered together, as 1.
        """
        at = np.flatnonzero(node >= 0)
        Z, piece = np.zeros((len(node), fit.Z.shape[1])), np.zeros(len(node), dtype=np.int64)
        Z[at], piece[at], piece[loose] = fit.Z[node[at]], graph.label[node[at]], 1
        attributes = {
            "n_pieces_": len(sizes),
            "piece_sizes_": sizes,
            "pieces_": piece,
            "left_out_": np.flatnonzero(node < 0),
            "rows_": rows,
            "node_": node,
            "n_neighbors_": graph.k,
            **fit.attributes,
        }
        notes = fit.notes
        if len(sizes) > 1:
            notes += (f"{len(sizes)} pieces ({self.pieces})",)
        if copies:
            notes += (f"{copies} rows equal others: equal rows are one in the graph and share a place",)
        return fit._replace(Z=Z, attributes=attributes, notes=notes)

    # the table ------------------------------------------------------------------------------------
    def _open(self, X: Any, y: Any, weight: Any) -> Source:
        """Cells that a sparse matrix of pairs does not store are no edges."""
        sparse_pairs = self._of_pairs() and sp.issparse(X)
        return as_source(X, weight=weight, zeros="gaps") if sparse_pairs else as_source(X, weight=weight)

    def _frame(self, source: Source) -> Frame:
        return frame_of(source.sample(FRAME_ROWS), origin=not self._of_pairs())

    def _read_pairs(self, source: Source, frame: Frame) -> Any:
        """A matrix of pairs that is one: dense, or sparse where a graph is; one known one way only is known."""
        check_square((source.n, source.d), "distances")
        if isinstance(source, SparseSource) and self.metric == "graph":
            D = mirrored(sp.csr_array(source.values * frame.scale[0]))
        else:
            D = known_either_way(self._mark_unknown(*gather(Framed(source, frame)), source.columns))
        check_pairs(D, "distances")
        return D

    def _mark_unknown(self, x: Array, mask: Mask | None, columns: tuple[str, ...] = (), start: int = 0) -> Array:
        """Pairs without a number are infinitely far."""
        return x if mask is None else np.where(mask, x, np.inf)

    def _subset(self, X: Any, rows: Index) -> Any:
        return X[rows][:, rows] if self._of_pairs() else X[rows]

    # the graph ------------------------------------------------------------------------------------
    def _build_graph(self, X: Any, n_neighbors: int) -> NeighbourGraph:
        m = X.shape[0]
        if self.metric == "graph":
            C = sp.coo_array(X if sp.issparse(X) else np.where(np.isfinite(X), X, 0.0))
            edge = C.data != 0.0  # cells that are finite and not zero
            edges = RowPairs(C.row[edge].astype(np.intp), C.col[edge].astype(np.intp), C.data[edge])
            return graph_of(np.zeros((m, 0)), edges, np.zeros(m), m - 1, n_neighbors)
        k = self._graph_neighbors(m, n_neighbors)
        pairs, radius = joined(X, k) if self.metric == "euclidean" else joined_known(X, k)
        return graph_of(X, pairs, radius, k, n_neighbors)

    def _graph_neighbors(self, m: int, n_neighbors: int) -> int:
        """Neighbours each of m different rows is joined to."""
        k = min(n_neighbors, m - 1)
        if k < n_neighbors:
            warn("LD432", model=type(self).__name__, n_neighbors=n_neighbors, n=m, most=k)
        return k

    def _join_pieces(self, graph: NeighbourGraph) -> tuple[NeighbourGraph, Index]:
        """The graph that is mapped and its rows: all of it, bridged or piece by piece, or its largest piece."""
        every_row = np.arange(graph.m)
        sizes = np.bincount(graph.label)
        if len(sizes) == 1:
            return graph, every_row
        words = ", ".join(map(str, sizes[:SIZES_IN_WORDS])) + (" ..." if len(sizes) > SIZES_IN_WORDS else "")
        warn("LD430", count=len(sizes), sizes=words, done=PIECES_DONE[self.pieces], k=graph.k)
        if self.pieces == "each":
            return graph, every_row
        if self.metric == "graph":
            raise error("LD433", count=len(sizes), pieces=self.pieces)
        if self.pieces == "largest":
            rows = np.flatnonzero(graph.label == 0)
            position = np.full(graph.m, -1, dtype=np.intp)
            position[rows] = np.arange(len(rows))
            i, j, d = graph.pairs.chosen(position[graph.pairs.i] >= 0)
            return graph._replace(
                points=self._subset(graph.points, rows),
                pairs=RowPairs(position[i], position[j], d),
                radius=graph.radius[rows],
                label=np.zeros(len(rows), dtype=np.intp),
                k=min(graph.k, len(rows) - 1),
            ), rows
        pairs = bridges(graph.label, graph.points, known=self._of_pairs())
        if len(pairs.i) < len(sizes) - 1 or not np.isfinite(pairs.d).all():
            raise error("LD433", count=len(sizes), pieces=self.pieces)
        return graph._replace(bridges=pairs), every_row

    # new rows --------------------------------------------------------------------------------------
    def _own_completion(self) -> Completion:
        points: Array = self.params_.points
        limit = certain_limit(TableRows(points), self.n_neighbors_, 1)
        return completion_of(points, None)._replace(limit=limit)

    def _place_gaps(self, x: Array, mask: Mask) -> Array:
        """A row that is known well enough goes by its expected cells, another lies where it may be."""
        completion, points = self.completion_, self.params_.points
        rows = complete_rows(completion, x, mask)
        near = rows.open <= completion.limit
        Z = np.empty((len(x), self.embedding_.shape[1]))
        if near.any():
            # A row that is a point but for the rounding of inferred cells is that point: no row is its own neighbour.
            x_near, close = rows.mean[near], nearest(rows.mean[near], 1, points)
            same = close.distance <= SAME_ROW * float(np.linalg.norm(completion.spread))
            Z[near] = self._extend(self.params_, np.where(same, points[close.row[:, 0]], x_near))
        Z[~near] = mean_place(completion, x[~near], mask[~near], points, self.embedding_[self.rows_])
        return Z

    def _nearest_mapped(self, points: Array, rows: Index, X: Array, k: int) -> Neighbours:
        """The k nearest of the mapped rows, each row itself among them at distance zero."""
        if self.metric == "euclidean":
            return nearest(X, k, points)
        neighbours = nearest_known(check_lengths(X[:, rows], "distances"), k)
        isolated = np.flatnonzero(~np.isfinite(neighbours.distance[:, 0]))
        if len(isolated):
            raise error("LD434", f"row {isolated[0] + 1}", count=len(isolated))
        return neighbours


def distinct_rows(X: Any, metric: str = "euclidean") -> tuple[Index, Index]:
    """The first of each set of equal rows, in their order, and which of them each row is."""
    n = X.shape[0]
    if metric == "graph" or (metric == "euclidean" and np.diff(np.sort(X[:, 0])).all()):
        return np.arange(n), np.arange(n)  # no two rows begin alike
    if metric == "precomputed":
        label = components(sp.csr_array(X == 0.0))[1]
    else:
        plain = np.ascontiguousarray(X + 0.0)  # without negative zeros
        row_bytes = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
        label = np.unique(row_bytes, return_inverse=True)[1].reshape(n)
    first, inverse = np.unique(label, return_index=True, return_inverse=True)[1:]
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(n)]


def graph_of(points: Array, pairs: RowPairs, radius: Array, k: int, asked: int) -> NeighbourGraph:
    """The graph of these neighbours, its pieces numbered by their size."""
    label = components(matrix_of(pairs, np.ones(len(pairs.i)), len(points)))[1]
    # The largest piece is number 0; of equal ones the one whose row comes first.
    order = np.argsort(-np.bincount(label), kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return NeighbourGraph(points, pairs, radius, number[label], pairs.chosen(np.zeros(0, dtype=np.intp)), k, asked)


class MapVectors(NamedTuple):
    """The vectors of the smallest eigenvalues of every map of a graph."""

    values: Array  # maps x q
    vectors: Array  # m x q
    solver: str
    residual: float
    notes: tuple[str, ...]


def smallest_vectors(graph: NeighbourGraph, q: int, solve_map: Callable[[Index, int], Eigen]) -> MapVectors:
    """`solve_map(rows, k)` of each map of the graph: its k smallest eigenpairs but the constant."""
    values, V = np.zeros((graph.n_maps, q)), np.zeros((graph.m, q))
    solver, residual = "", 0.0
    notes: tuple[str, ...] = ()
    for c, rows in enumerate(graph.map_rows()):
        k = min(q, len(rows) - 1)
        if k == 0:
            continue
        one_more = len(rows) <= DENSE_ROWS  # where it is cheap: it may be equal to the last
        eigen = solve_map(rows, min(k + one_more, len(rows) - 1))
        values[c, :k], V[rows, :k] = eigen.values[:k], eigen.vectors[:, :k]
        residual = max(residual, eigen.residual)
        if c == 0:
            solver, notes = eigen.solver, equal_values(eigen.values, k)
    return MapVectors(values, V, solver, residual, notes)


def equal_values(values: Array, q: int, least: float = 1e-15) -> tuple[str, ...]:
    """Notes on eigenvalues that are equal: their vectors are any of their common space."""
    same = np.flatnonzero(np.abs(np.diff(values)) <= EQUAL_VALUES * np.maximum(values[1:], values[:-1]) + least)
    inside = [f"{a + 1} and {a + 2}" for a in same if a + 1 < q]
    notes = [f"axes {', '.join(inside)} have equal eigenvalues: their plane is determined, their directions are not"]
    return tuple(notes if inside else []) + ((ARBITRARY_AXIS,) if q - 1 in same else ())
