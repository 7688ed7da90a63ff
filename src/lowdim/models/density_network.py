"""Density networks: one sample of latent points for all rows, bent through the table by a network."""
from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.data.block import Array
from lowdim.data.source import KEEP_CELLS, tile_rows
from lowdim.engine.plan import Cost, walking
from lowdim.math.basis import Basis, grid, spread_basis
from lowdim.math.mlp import Layers, backward, drawn, forward, lbfgs, output, pack, slopes, unpack
from lowdim.messages import error
from lowdim.models.estimator import SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.gtm import GTM, NOISE_FLOOR, PIECE, SheetSums, solved, strength
from lowdim.models.linear import COUNT, POSITIVE
from lowdim.models.look import Look
from lowdim.models.start import FLOOR, first_axes

INNER = 10  # steps of the hidden layers in one M-step; each finds the best output layer for its own
GAIN = 2.0  # of the hidden weights' start: units bend within the sample, and are not all flat
SIDE = 2.5  # bells over a Gaussian sample reach so many standard deviations each way
RIDGE = 1e-10  # of the mean diagonal, at least: nodes that hold no row would leave the output weights open
HIDDEN_PRIOR = 1e-2  # precision of the hidden weights: keeps units from turning into steps


class Hidden(NamedTuple):
    """What the hidden layers say of latent points, and a constant; stands where a sheet has its bells."""

    layers: Layers

    def at(self, Z: Array) -> Array:
        """The units at points, n x (H + 1)."""
        return np.hstack([np.tanh(output(self.layers, Z)), np.ones((len(Z), 1))])

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (H + 1) x L."""
        J = slopes(self.layers, Z).transpose(0, 2, 1) * (1.0 - self.at(Z)[:, :-1, None] ** 2)
        return np.concatenate([J, np.zeros((len(Z), 1, Z.shape[1]))], axis=1)


class Net(NamedTuple):
    """Parameters, in the frame's units: nodes at W'phi(sample), phi tanh units or bells; one noise variance."""

    grid: Array  # K x L, the latent sample
    layers: Layers  # the hidden ones; empty for bells
    centres: Array
    width: float
    W: Array  # (H + 1) x d
    psi: float
    prior: float  # precision of the output weights
    low: float  # the floor of psi

    @property
    def basis(self) -> Any:
        return Hidden(self.layers) if self.layers else Basis(self.centres, self.width)

    @property
    def nodes(self) -> Array:
        """Where the sample lies in the table's space, K x d."""
        return np.asarray(self.basis.at(self.grid) @ self.W)


def _sizes(hidden: Any) -> bool:
    return COUNT.holds(hidden) or (isinstance(hidden, tuple) and len(hidden) > 0 and all(map(COUNT.holds, hidden)))


def _bells(hidden: Any) -> bool:
    named = isinstance(hidden, tuple) and len(hidden) == 3 and hidden[0] == "rbf"
    return (isinstance(hidden, str) and hidden == "rbf") or (
        named and COUNT.holds(hidden[1]) and POSITIVE.holds(hidden[2]))


def _gridded(samples: Any) -> bool:
    return isinstance(samples, tuple) and len(samples) == 2 and samples[0] == "grid" and COUNT.holds(samples[1])


class DensityNetwork(GTM):
    """A density network: a Gaussian sample of latent points, the same for every row, bent through the table.

    x = g(z) + e,  z ~ N(0, I),  e ~ N(0, s2 I),  p(x) = 1/K sum_k N(x; g(z_k), s2 I) over K drawn z_k; g a perceptron
    with tanh units, `hidden=20` or `(20, 10)`, or radial bells, `hidden="rbf"` or `("rbf", 6, 1.0)` (bells a side and
    their width in spacings). Generalised EM: shares of the sample in each row, then L-BFGS on the hidden layers, the
    output layer being the best there is at each of its steps (variable projection). `score_samples` is the log
    density under the sample, an estimate of that under the Gaussian. `n_samples=("grid", 10)` with bells is the GTM.

    Reference: MacKay, Nucl. Instrum. Methods A 354 (1995); Lawrence seed 6.

    >>> t = np.linspace(0, 3, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = DensityNetwork(1, n_samples=40, hidden=5).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.95)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_samples": Rule(lambda v: COUNT.holds(v) or _gridded(v), "a whole number >= 1, or ('grid', points a side)"),
        "hidden": Rule(lambda v: _sizes(v) or _bells(v), "units, a tuple of units, 'rbf' or ('rbf', bells, width)"),
        **{name: GTM._rules[name] for name in ("weight_prior", "standardize", "tol", "max_iter")},
        "random_state": Rule(is_seed, SEED_WORDS)}

    def __init__(self, n_components: int = 2, *, n_samples: Any = 100, hidden: Any = 20, weight_prior: Any = 0.1,
                 standardize: bool = False, tol: float = 1e-2, max_iter: int = 1000, random_state: Any = 0) -> None:
        self.n_components = n_components
        self.n_samples = n_samples
        self.hidden = hidden
        self.weight_prior = weight_prior
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # expectation is the sheet's ---------------------------------------------------------------------------
    def _objective(self, params: Any, stats: SheetSums) -> float:
        return super()._objective(params, stats) - 0.5 * HIDDEN_PRIOR * _squares(params.layers)

    def _update(self, params: Any, stats: SheetSums) -> Any:
        """The hidden layers, each step with the best output layer; then the noise. Bells are the sheet's own case."""
        if not params.layers:
            return super()._update(params, stats)
        found = lbfgs(lambda v: profile(unpack(v, params.layers), params, stats), pack(params.layers), INNER)
        layers = unpack(found.x, params.layers)
        f = fitted(layers, params, stats)
        if found.value > expected(params.layers, params.W, params.nodes, params, stats):  # nothing but rounding
            layers, f = params.layers, fitted(params.layers, params, stats)._replace(W=params.W, Y=params.nodes)
        left = stats.xx - 2.0 * float((f.Y * stats.RX).sum()) + float((stats.G * f.Y**2).sum())
        psi = max(left / max(stats.cells, 1.0), params.low)
        prior = params.prior if self.weight_prior != "auto" else strength(f.A / psi, f.W, params.prior)
        return params._replace(layers=layers, W=f.W, psi=psi, prior=prior)

    def _pack(self, params: Any) -> Array:
        return np.concatenate([pack(params.layers), super()._pack(params)])

    def _unpack(self, vector: Array, like: Any) -> Any:
        count = len(pack(like.layers))
        found: Any = super()._unpack(vector[count:], like)
        return found._replace(layers=unpack(vector[:count], like.layers))

    # where it starts --------------------------------------------------------------------------------------
    def _start(self, seen: Look) -> Any:
        """The principal plane, as well as drawn units can make it; its noise what the plane leaves out."""
        d, L = seen.source.d, int(self.n_components)
        if d < L:
            raise error("LD200", asked=L, most=d, why=f"the table has {d} columns")
        rng = np.random.default_rng([seed_of(self.random_state), 84])
        even = _gridded(self.n_samples)
        nodes = grid(int(self.n_samples[1]), L) if even else rng.standard_normal((int(self.n_samples), L))
        layers, basis = self._first(L, 1.0 if even else SIDE, rng)
        phi = (Hidden(layers) if layers else basis).at(nodes)
        values, U = first_axes(seen, L)
        values = np.maximum(values, 0.0)
        sd = nodes.std(axis=0)
        target = seen.columns.mean + (nodes / np.where(sd > 0, sd, 1.0) * np.sqrt(values)) @ U.T
        penalty = np.full(phi.shape[1], 1e-6 * len(nodes))
        penalty[-1] = 0.0  # the constant follows the origin
        W = np.asarray(np.linalg.solve(phi.T @ phi + np.diag(penalty), phi.T @ target))
        total = float(seen.columns.variance.sum())
        low = max(NOISE_FLOOR * total / d, FLOOR * np.finfo(float).tiny ** 0.25)
        psi = max((total - float(values.sum())) / max(d - L, 1), 1e-1 * total / d, low)
        prior = 0.1 if self.weight_prior == "auto" else float(self.weight_prior)
        return Net(nodes, layers, basis.centres, basis.width, W, psi, prior, low)

    def _first(self, L: int, side: float, rng: np.random.Generator) -> tuple[Layers, Basis]:
        """Drawn hidden layers, or bells over the sample."""
        if _bells(self.hidden):
            bells, width = (6, 1.0) if isinstance(self.hidden, str) else self.hidden[1:]
            basis = spread_basis(int(bells), L, float(width))
            return (), Basis(basis.centres * side, basis.width * side)
        units = (int(self.hidden),) if COUNT.holds(self.hidden) else tuple(map(int, self.hidden))
        layers = drawn((L, *units), rng, GAIN)
        return tuple((W, b + rng.standard_normal(len(b))) for W, b in layers), Basis(np.zeros((0, L)), 1.0)

    def _cost(self, n: int, d: int) -> Cost:
        K = int(self.n_samples[1]) ** int(self.n_components) if _gridded(self.n_samples) else int(self.n_samples)
        H = 1 + (int(self.hidden) if COUNT.holds(self.hidden) else
                 6 ** int(self.n_components) if isinstance(self.hidden, str) else
                 int(self.hidden[1]) ** int(self.n_components) if _bells(self.hidden) else sum(map(int, self.hidden)))
        passes, tile, node = 6 + int(self.max_iter), min(tile_rows(d), n), 2 * K * d
        kept = 9 * n * d if n * d <= KEEP_CELLS else 0
        peak = walking(n, d, 4 * tile * d + 4 * PIECE * K + 8 * K * H + 2 * node, node) + 8 * (2 * d * H * H + 2 * node)
        wide = 8 * (3 * d * d if d <= n else 4 * n * d + 4 * n * n)
        return Cost(passes, 8 * n * d * passes, peak + kept + wide, "fewer samples, or fewer columns",
                    min(100, int(self.max_iter)))


class Fitted(NamedTuple):
    """Hidden layers with the best output weights for them."""

    said: list[Array]
    units: Array
    A: Array
    W: Array
    Y: Array


def fitted(layers: Layers, like: Net, stats: SheetSums) -> Fitted:
    """One regularised regression (one a column where cells are missing)."""
    said = forward(layers, like.grid)
    units = np.tanh(said[-1])
    Phi = np.hstack([units, np.ones((len(units), 1))])
    A = np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])
    size = float(np.trace(A, axis1=1, axis2=2).mean()) / Phi.shape[1]
    ridge = np.full(Phi.shape[1], max(like.psi * like.prior, RIDGE * size))
    ridge[-1] = 0.0
    W = solved(A + np.diag(ridge), Phi.T @ stats.RX)
    return Fitted(said, units, A, W, Phi @ W)


def expected(layers: Layers, W: Array, Y: Array, like: Net, stats: SheetSums) -> float:
    """What the M-step minimises: 1/(2 s2) sum_k g_k |y_k|^2 - 2 y_k' r_k, and the priors."""
    value = 0.5 * float((stats.G * Y**2).sum() - 2.0 * (Y * stats.RX).sum()) / like.psi
    return value + 0.5 * like.prior * float((W[:-1] ** 2).sum()) + 0.5 * HIDDEN_PRIOR * _squares(layers)


def profile(layers: Layers, like: Net, stats: SheetSums) -> tuple[float, Array]:
    """The same at the best output weights, where its slope by them is zero; and its gradient by the hidden layers."""
    f = fitted(layers, like, stats)
    dY = (stats.G * f.Y - stats.RX) / like.psi
    found, _ = backward(layers, f.said, (dY @ f.W[:-1].T) * (1.0 - f.units**2))
    plain = np.concatenate([np.append(V.ravel(), 0.0 * b) for V, b in layers])
    return expected(layers, f.W, f.Y, like, stats), pack(found) + HIDDEN_PRIOR * plain


def _squares(layers: Layers) -> float:
    """Of the hidden weights, biases not counted."""
    return float(sum((W**2).sum() for W, _ in layers))
