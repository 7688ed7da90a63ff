"""The methods by name: what makes each, and what it can do; which answers what question.

`compare`, `fit --method` and `lowdim methods` read these lists.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from lowdim.text.messages import error

Options = Callable[[int | None, int, int], dict[str, Any]]


class Method(NamedTuple):
    """A method: where its class lives, its options for q dimensions, k clusters and a seed, and what it lacks.

    `no_...` says in a word or two why it lacks something, and is empty where it does not.
    """

    name: str
    title: str
    home: str  # a public name of lowdim, or module:class
    options: Options
    no_gaps: str = ""  # fits tables with gaps
    no_new_rows: str = ""  # places rows it has not seen
    no_decoder: str = ""  # says what cells a position stands for
    no_density: str = ""  # has a density of rows
    no_uncertainty: str = ""  # says how sure it is of a position or a fill
    no_map: str = ""  # gives each row a place; clusters do not
    axes: bool = False  # its axes have a length of their own: distances are those of the positions, not decoded
    most_axes: int = 0  # axes it can have; 0 = as many as asked
    usual: int = 0  # axes at most where their number is the jury's, which counts straight ones; 0 = as the jury says
    local: bool = False  # clusters with axes of their own
    factors: bool = False  # no more axes than factor analysis can tell apart
    most_rows: int = 0  # rows it is fitted to where it is fitted many times; 0 = all
    slow: str = ""  # why a fit to more rows than that takes long
    estimate: str = ""  # what its log density is, where it is not exact
    needs: str = ""  # its attribute that counts the axes it needs of those it was given, which come first
    begins: int | None = 0  # axes it begins with to find their number itself: None = all, 0 = it does not

    @property
    def here(self) -> bool:
        """Whether this version of lowdim has it."""
        module, _, name = self.home.rpartition(":")
        return find_spec(module) is not None if module else name in dir(import_module("lowdim"))

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return self.home.rpartition(":")[2]

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it cannot do, in a word or two each."""
        every = (self.no_gaps, self.no_new_rows, self.no_decoder, self.no_density, self.no_uncertainty, self.no_map)
        return tuple(word for word in every if word)

    def most(self, q: int, auto: bool) -> int:
        """How many axes it gets where q were asked for, or (`auto`) where the jury found q straight ones."""
        limits = (self.most_axes, self.usual if auto else 0)
        return min([q, *(limit for limit in limits if limit)])

    def make(self, q: int | None, k: int = 3, seed: int = 0) -> Any:
        """The estimator, not yet fitted; without a q it begins with all axes there may be."""
        module, _, name = self.home.rpartition(":")
        q = None if q is None else self.most(q, False)
        return getattr(import_module(module or "lowdim"), name)(**self.options(q, k, seed))


def _q(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q}


def _clusters(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k, "random_state": seed}


def _parts(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": k, "random_state": seed}


def _local(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k, "n_components": q, "random_state": seed}


def _seeded(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q, "random_state": seed}


def _sheet(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q, **({"grid": 20} if q is None or q < 3 else {"grid": 8, "basis": 4})}  # from PCA's axes


def _spectral(name: str, title: str, home: str, most_rows: int, **lacks: Any) -> Method:
    """A map over pairs of rows: it places rows, new ones too, and says no more."""
    lacks = {"options": _q, "no_decoder": "no decoder", **lacks}
    return Method(
        name,
        title,
        home,
        no_gaps="no gaps",
        no_density="no density",
        no_uncertainty="no noise",
        axes=True,
        most_rows=most_rows,
        **lacks,
    )


METHODS = {
    m.name: m
    for m in (
        Method("pca", "PCA", "PCA", _q),
        Method("ppca", "probabilistic PCA", "ProbabilisticPCA", _q),
        Method("fa", "factor analysis", "FactorAnalysis", _q, factors=True),
        Method("bpca", "Bayesian PCA", "BayesianPCA", _q, begins=None),
        Method("dual", "dual PPCA", "DualPPCA", _q, no_density="no density"),
        Method(
            "ica",
            "ICA",
            "ICA",
            _seeded,
            no_gaps="no gaps",
            no_density="no density",
            no_uncertainty="no noise",
            axes=True,
        ),
        # bent sheets: decoded, they are no maps, so their places count
        Method("gtm", "GTM", "GTM", _sheet, axes=True, most_axes=3, usual=2),
        Method(
            "density",
            "density network",
            "DensityNetwork",
            _seeded,
            axes=True,
            most_axes=3,
            usual=2,
            estimate="an estimate by a drawn sample",
        ),
        Method(
            "nlfa",
            "nonlinear factor analysis",
            "NonlinearFactorAnalysis",
            _seeded,
            axes=True,
            most_axes=3,
            usual=2,
            estimate="a lower bound",
        ),
        Method(
            "gplvm",
            "GP-LVM",
            "GPLVM",
            _seeded,
            axes=True,
            most_rows=1000,
            usual=2,
            estimate="Laplace's estimate, too high for rows of the fit",
            slow="its time grows with the cube of the rows",
        ),
        Method(
            "bgplvm",
            "Bayesian GP-LVM",
            "BayesianGPLVM",
            _seeded,
            axes=True,
            most_rows=1000,
            begins=10,
            needs="kept_",
            estimate="Laplace's estimate, too high for rows of the fit",
            slow="each of several hundred steps goes through all pairs of its inducing points for every row",
        ),
        Method(
            "autoencoder",
            "autoencoder",
            "Autoencoder",
            _seeded,
            no_gaps="no gaps",
            no_density="no density",
            no_uncertainty="no noise",
            axes=True,
            usual=2,
        ),
        _spectral("mds", "classical MDS", "ClassicalMDS", 1000),
        _spectral("kpca", "kernel PCA", "KernelPCA", 1000, options=_seeded, no_decoder=""),  # by pre-images
        _spectral("isomap", "Isomap", "Isomap", 1000),
        _spectral("le", "Laplacian eigenmaps", "LaplacianEigenmaps", 1000),
        _spectral("lle", "locally linear embedding", "LocallyLinearEmbedding", 1000),
        _spectral("mvu", "maximum variance unfolding", "MaximumVarianceUnfolding", 300),
        _spectral("meu", "maximum entropy unfolding", "MaximumEntropyUnfolding", 300),
        Method("mppca", "mixture of PPCA", "MixtureOfPPCA", _local, no_map="no map", local=True),
        Method("mfa", "mixture of FA", "MixtureOfFA", _local, no_map="no map", local=True, factors=True),
        Method("gmm", "Gaussian mixture", "GaussianMixture", _parts, no_map="no map"),
        Method("kmeans", "K-means", "KMeans", _clusters, no_density="no density", no_map="no map"),
        Method(
            "random",
            "random projection",
            "lowdim.judge.compare.random_projection:RandomProjection",
            _seeded,
            no_density="no density",
            no_uncertainty="no noise",
        ),
    )
}
FITTED = tuple(name for name in METHODS if name != "random")  # a random projection is a floor, not a fit
ALWAYS = ("pca", "random")  # what everyone knows, and the floor


def available() -> tuple[str, ...]:
    """The names of the methods this version has."""
    return tuple(name for name, method in METHODS.items() if method.here)


def named(name: str, among: tuple[str, ...] | None = None) -> Method:
    """The method of this name, in capitals or not; one that is not among them is refused with those that are."""
    word, known = str(name).strip().lower(), available() if among is None else among
    if word not in known:
        raise error("LD290", name=name, known=", ".join(known))
    return METHODS[word]


class Question(NamedTuple):
    """What a person may want to know, and what answers it: methods by name, or other classes and a way to them."""

    text: str
    methods: tuple[str, ...] = ()
    way: str = ""  # where it is not `lowdim fit` with the first of the methods
    classes: str = ""  # where it is none of the methods

    @property
    def answer(self) -> str:
        """The classes that answer it."""
        return self.classes or ", ".join(METHODS[name].class_name for name in self.methods)

    @property
    def how(self) -> str:
        """What to type."""
        return self.way or f"lowdim fit FILE -m {self.methods[0]}"


QUESTIONS = (
    Question("How many dimensions? A map with gaps and uncertainty?", ("ppca",), "lowdim report FILE"),
    Question("The same axes as other PCA software?", ("pca",)),
    Question("Which hidden traits explain the correlations?", ("fa",)),
    Question("Many more columns than rows?", ("dual",)),
    Question("How many axes does the table support, and how surely?", ("bpca",)),
    Question("Are there groups of rows?", ("gmm", "kmeans")),
    Question("Groups, each with axes of its own?", ("mppca", "mfa")),
    Question("Independent sources behind the columns?", ("ica",)),
    Question("What do two sets of columns share?", way="lowdim.CCA(k).fit(X, Y)", classes="CCA"),
    Question(
        "What tells known classes apart?", way="lowdim.LinearDiscriminant(k).fit(X, y)", classes="LinearDiscriminant"
    ),
    Question("Which columns vary most?", way="lowdim.VarianceSelector(k).fit(X)", classes="VarianceSelector"),
    Question(
        "Ratings of items by users?", way="lowdim.MatrixFactorization(k).fit(triples)", classes="MatrixFactorization"
    ),
    Question("A bent surface behind the columns, also of many rows?", ("gtm", "density", "nlfa")),
    Question("The smoothest bent map of up to a few thousand rows?", ("gplvm",)),
    Question("The same, and how many dimensions it needs?", ("bgplvm",)),
    Question("The fewest numbers from which a row can be made again?", ("autoencoder",)),
    Question("A map that keeps neighbours, or the distances along them?", ("isomap", "le", "lle", "mvu", "meu")),
    Question("A map of distances or similarities?", ("mds", "kpca")),
    Question("How good is a map made elsewhere?", way="lowdim compare FILE --map xy.csv"),
    Question("Which of these, for this table?", way="lowdim compare FILE"),
)
