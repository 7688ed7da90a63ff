"""What the methods of neighbourhoods share: the graph of the rows, its pieces, and where new rows join it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from lowdim.engine.fold import Run
from lowdim.maths.eigen import DENSE_ROWS, Eigen
from lowdim.maths.graph import bridges, by_size, components, matrix_of
from lowdim.maths.linalg import Array, Index, Mask
from lowdim.maths.pairs import (
    Neighbours,
    RowPairs,
    fault,
    joined,
    joined_known,
    mirrored,
    nearest,
    nearest_known,
    sparse_fault,
    together,
)
from lowdim.models.base.estimator import COUNT, Rule
from lowdim.models.spectral.spectral_model import SpectralFit, SpectralModel, in_units, refuse_fault
from lowdim.sources.arrays import SparseSource, as_source
from lowdim.sources.source import Block, Source
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
SIZES_IN_WORDS = 8  # sizes of pieces that are written out


class NeighbourGraph(NamedTuple):
    """The neighbourhood graph of the rows that differ."""

    points: Array  # m x d cells, m x m distances, or m x 0 where only a graph was given
    pairs: RowPairs  # each row with its neighbours, one way
    radius: Array  # distance of the k-th neighbour
    label: Index  # the piece of each row, the largest first
    bridges: RowPairs  # edges between pieces that were added
    k: int

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
    """

    n_neighbors: int
    metric: str
    pieces: str
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_neighbors": COUNT,
        "metric": Rule(lambda v: v in ("euclidean", "precomputed", "graph"), "'euclidean', 'precomputed' or 'graph'"),
        "pieces": Rule(lambda v: v in ("bridge", "largest", "each"), "'bridge', 'largest' or 'each'"),
    }

    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        """Places of the m rows of the graph, which are these `rows` of the table."""
        raise NotImplementedError

    def _of_pairs(self) -> bool:
        return self.metric != "euclidean"

    def _embed(self, source: Source, frame: Frame, run: Run) -> SpectralFit:
        X = self._read_table(source, frame)
        first, copy_of = self._distinct_rows(X)
        if len(first) < 2:
            raise error("LD431", n=X.shape[0])
        graph = self._build_graph(X if len(first) == X.shape[0] else self._subset(X, first))
        sizes = np.bincount(graph.label)
        graph, mapped = self._join_pieces(graph)
        most = (graph.m if graph.n_maps == 1 else int(sizes[0])) - 1
        if self.n_components > most:
            raise error(
                "LD200", n_components=self.n_components, most=most, why=f"{most + 1} rows span no more dimensions"
            )
        fit = self._map_graph(graph, first[mapped])
        node = np.full(len(first), -1, dtype=np.intp)
        node[mapped] = np.arange(len(mapped))
        return self._place_all_rows(fit, X, graph, node[copy_of], sizes, first[mapped], X.shape[0] - len(first))

    # gaps -----------------------------------------------------------------------------------------
    def _embed_completed(self, completion: Any, rows: Any, x: Array, mask: Mask, frame: Frame) -> SpectralFit:
        """The map of the rows that are known well enough to be neighbours; the others lie where they may be."""
        from lowdim.models.spectral.completion import certain_limit, mean_place, thinned_neighbors

        n, k = len(x), self.n_neighbors
        limit = certain_limit(rows, k, max(self.n_components + 2, k + 1))
        certain = np.flatnonzero(rows.open <= limit)
        thinned = clone(self).set_params(n_neighbors=thinned_neighbors(k, len(certain), n))
        fit: SpectralFit = thinned._embed(*in_units(rows.mean[certain]), Run())
        nodes = fit.attributes["rows_"]
        far = np.flatnonzero(rows.open > limit)
        Z = np.empty((n, fit.Z.shape[1]))
        Z[certain] = fit.Z
        Z[far] = mean_place(completion, x[far], mask[far], rows.mean[certain][nodes], fit.Z[nodes])
        fit = fit._replace(Z=Z, attributes=of_all_rows(fit.attributes, certain, far, n))
        if len(far):
            words = f"{len(far)} rows are too uncertain to be neighbours, and lie where they are expected"
            fit = fit._replace(notes=(*fit.notes, words))
        attributes = {"completion_": completion._replace(limit=limit), **fit.attributes}
        return fit._replace(attributes=attributes)

    def _place_gaps(self, completion: Any, x: Array, mask: Mask) -> Array:
        from lowdim.models.spectral.completion import CompletedRows, certain_limit, complete_rows, mean_place

        points = self.params_.points
        limit = completion.limit
        if "completion_" not in vars(self):
            limit = certain_limit(CompletedRows(points, np.zeros_like(points)), self.n_neighbors_, 1)
        rows = complete_rows(completion, x, mask)
        near = rows.open <= limit
        Z = np.empty((len(x), self.embedding_.shape[1]))
        if near.any():
            size = float(np.linalg.norm(completion.spread))
            Z[near] = self._extend(self.params_, _snapped(rows.mean[near], points, size))
        Z[~near] = mean_place(completion, x[~near], mask[~near], points, self.embedding_[self.rows_])
        return Z

    def _kept_rows(self) -> Array:
        return np.asarray(self.params_.points)

    # the table ------------------------------------------------------------------------------------
    def _open(self, X: Any) -> Source:
        """Cells that a sparse matrix of pairs does not store are no edges."""
        return as_source(X, zeros="gaps") if self._of_pairs() and sp.issparse(X) else as_source(X)

    def _frame(self, source: Source) -> Frame:
        return frame_of(source.sample(FRAME_ROWS), origin=not self._of_pairs())

    def _read_table(self, source: Source, frame: Frame) -> Any:
        """Cells, or a matrix of pairs that is one: dense, or sparse where a graph is."""
        if not self._of_pairs():
            return self._complete_cells(source, frame)
        if source.n != source.d:
            problem = f"it has {source.n} rows and {source.d} columns, and is not square"
            raise error("LD410", what=self._pair_word(), problem=problem, case="not square")
        if isinstance(source, SparseSource) and self.metric == "graph":
            return self._check_pairs(sp.csr_array(source.values * frame.scale[0]))
        x, mask = gather(Framed(source, frame))
        return self._check_pairs(self._mark_unknown(x, mask))

    def _mark_unknown(self, x: Array, mask: Any) -> Array:
        """Cells without a number are infinitely far."""
        return x if mask is None else np.where(mask, x, np.inf)

    def _pair_word(self) -> str:
        """What the cells of a matrix of pairs are, for messages."""
        return "distances"

    def _check_pairs(self, D: Any) -> Any:
        """Refuse what is no matrix of distances, naming the cell; one known one way only is known."""
        D = mirrored(D) if sp.issparse(D) else np.where(np.isfinite(D), D, D.T)
        refuse_fault(sparse_fault(D) if sp.issparse(D) else fault(np.where(np.isfinite(D), D, 0.0)), self._pair_word())
        return D

    def _distinct_rows(self, X: Any) -> tuple[Index, Index]:
        """The first of each set of equal rows, in their order, and which of them each row is."""
        n = X.shape[0]
        if self.metric == "graph" or (self.metric == "euclidean" and np.diff(np.sort(X[:, 0])).all()):
            return np.arange(n), np.arange(n)  # no two rows begin alike
        if self.metric == "precomputed":
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

    def _subset(self, X: Any, rows: Index) -> Any:
        return X[rows][:, rows] if self._of_pairs() else X[rows]

    # the graph ------------------------------------------------------------------------------------
    def _build_graph(self, X: Any) -> NeighbourGraph:
        m = X.shape[0]
        if self.metric == "graph":
            k, pairs, radius = m - 1, stored_edges(X), np.zeros(m)
            X = np.zeros((m, 0))
        else:
            k = self._graph_neighbors(m)
            pairs, radius = joined(X, k) if self.metric == "euclidean" else joined_known(X, k)
        label = components(matrix_of(pairs, np.ones(len(pairs.i)), m))[1]
        no_bridges = pairs.chosen(np.zeros(0, dtype=np.intp))
        return NeighbourGraph(X, pairs, radius, by_size(label)[0], no_bridges, k)

    def _graph_neighbors(self, m: int) -> int:
        """Neighbours each of m different rows is joined to."""
        k = min(self.n_neighbors, m - 1)
        if k < self.n_neighbors:
            warn("LD432", model=type(self).__name__, n_neighbors=self.n_neighbors, n=m, most=k)
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
            return self._largest_piece(graph)
        pairs = bridges(graph.label, graph.points, known=self._of_pairs())
        if len(pairs.i) < len(sizes) - 1 or not np.isfinite(pairs.d).all():
            raise error("LD433", count=len(sizes), pieces=self.pieces)
        return graph._replace(bridges=pairs), every_row

    def _largest_piece(self, graph: NeighbourGraph) -> tuple[NeighbourGraph, Index]:
        rows = np.flatnonzero(graph.label == 0)
        position = np.full(graph.m, -1, dtype=np.intp)
        position[rows] = np.arange(len(rows))
        pairs = graph.pairs.chosen(position[graph.pairs.i] >= 0)
        return NeighbourGraph(
            self._subset(graph.points, rows),
            RowPairs(position[pairs.i], position[pairs.j], pairs.d),
            graph.radius[rows],
            np.zeros(len(rows), dtype=np.intp),
            graph.bridges,
            min(graph.k, len(rows) - 1),
        ), rows

    def _place_all_rows(
        self, fit: SpectralFit, X: Any, graph: NeighbourGraph, node: Index, sizes: Index, rows: Index, copies: int
    ) -> SpectralFit:
        """The fit to the rows of the graph as one to the table, whose rows are these nodes; -1 = in another piece."""
        left_out = np.flatnonzero(node < 0)
        Z = fit.Z[np.maximum(node, 0)]
        if len(left_out):
            Z[left_out] = self._extend(fit.params, X[left_out])
        piece = np.where(node >= 0, graph.label[np.maximum(node, 0)], min(1, len(sizes) - 1))
        attributes = {
            "n_pieces_": len(sizes),
            "piece_sizes_": sizes,
            "pieces_": piece.astype(np.int64),  # those outside the largest are numbered together, as 1
            "left_out_": left_out,
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

    def _field_rows(self) -> Index | None:
        if len(self.rows_) == len(self.embedding_) or len(self.left_out_) or (self.node_ < 0).any():
            return None
        return np.asarray(self.node_, dtype=np.intp)

    # new rows --------------------------------------------------------------------------------------
    def _place_block(self, completion: Callable[[], Any], block: Block) -> Array:
        if not self._of_pairs():
            return super()._place_block(completion, block)
        return self._extend(self.params_, self._mark_unknown(self.frame_.inward(block).x, block.mask))

    def _nearest_mapped(self, points: Array, rows: Index, X: Array, k: int) -> Neighbours:
        """The k nearest of the mapped rows, each row itself among them at distance zero."""
        if self.metric == "euclidean":
            return nearest(X, k, points)
        neighbours = nearest_known(self._check_lengths(X[:, rows]), k)
        isolated = np.flatnonzero(~np.isfinite(neighbours.distance[:, 0]))
        if len(isolated):
            raise error("LD434", f"row {isolated[0] + 1}", count=len(isolated))
        return neighbours

    def _check_lengths(self, D: Array) -> Array:
        """Distances of new rows to the mapped ones, infinite where there is no edge; negative ones are refused."""
        if D.min(initial=0.0) < 0.0:
            i, j = np.argwhere(D < 0.0)[0]
            problem = f"a distance is negative: {D[i, j]:g}"
            raise error("LD410", f"row {i + 1}, column {j + 1}", what=self._pair_word(), problem=problem)
        return D


def _snapped(x: Array, points: Array, size: float) -> Array:
    """Rows that are a point but for the rounding of inferred cells, as that point: no row is its own neighbour."""
    close = nearest(x, 1, points)
    same = close.distance <= SAME_ROW * size
    return np.where(same, points[close.row[:, 0]], x)


def of_all_rows(attributes: dict[str, Any], certain: Index, far: Index, n: int) -> dict[str, Any]:
    """Attributes of a fit to the certain rows as those of the table; the other rows are no nodes."""
    node, piece = np.full(n, -1, dtype=np.intp), np.zeros(n, dtype=np.int64)
    node[certain], piece[certain] = attributes["node_"], attributes["pieces_"]
    left_out = np.sort(np.append(certain[attributes["left_out_"]], far))
    named: dict[str, Any] = {
        name: certain[attributes[name]] for name in ("rows_", "landmarks_", "edges_") if name in attributes
    }
    return {**attributes, **named, "node_": node, "pieces_": piece, "left_out_": left_out}


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


def stored_edges(G: Any) -> RowPairs:
    """The edges of a matrix of edges: cells that are finite and not zero."""
    C = sp.coo_array(G if sp.issparse(G) else np.where(np.isfinite(G), G, 0.0))
    keep = C.data != 0.0
    return RowPairs(C.row[keep].astype(np.intp), C.col[keep].astype(np.intp), C.data[keep])
