"""Every public name, and one row a model: whatever lists models is made from here.

`lowdim.NAME`, model files, `lowdim methods`, `lowdim fit -m`, `compare`, README's table and the list of the laws are
derived from these rows; `make derive` writes what has to stand in a file. What a model lacks is repeated from its class
(an absent verb, a tag) because `lowdim methods` answers without importing the models; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from lowdim.text.messages import error

Options = Callable[[int | None, int, int], dict[str, Any]]
LACKS = {
    "gaps": "no gaps",  # tables with gaps are refused
    "fills": "no fills",  # it does not say what a gap holds
    "decoder": "no decoder",  # it does not say what cells a position stands for
    "density": "no density",
    "uncertainty": "no noise",  # it does not say how sure it is of a position or a fill
    "map": "no map",  # it gives rows clusters, not places
}


def _q(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q}


def _seeded(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": q, "random_state": seed}


def _clusters(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k, "random_state": seed}


def _medoids(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k}


def _parts(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_components": k, "random_state": seed}


def _local(q: int | None, k: int, seed: int) -> dict[str, Any]:
    return {"n_clusters": k, "n_components": q, "random_state": seed}


def _gtm(q: int | None, k: int, seed: int) -> dict[str, Any]:
    size = {"grid": 20} if q is None or q < 3 else {"grid": 8, "basis": 4}
    return {"n_components": q, "random_state": seed, **size}


class ModelEntry(NamedTuple):
    """A model: where its class lives, what it is, which question it answers, and what `fit -m` must know of it."""

    class_name: str
    module: str
    about: str  # its line in README
    question: str = ""  # that it answers; models with the same question answer it together
    way: str = ""  # what to type, where it is not `lowdim fit` with its short name
    name: str = ""  # its short name for `fit -m` and `compare`; empty where it has none
    title: str = ""  # in a sentence
    options: Options = _q  # for q dimensions, k clusters and a seed
    lacks_abilities: tuple[str, ...] = ()  # keys of LACKS
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
    clusters: int = 0  # it begins with to find their number itself; 0 = it does not
    covariances: bool = False  # its clusters may have covariances of several kinds
    asks: str = ""  # what it must be told beside the numbers: "classes" or "views"
    own_units: bool = False  # columns as the table has them: their variances are what it is about
    pairs: tuple[tuple[str, str, str], ...] = ()  # what tables of pairs it takes, and by which option and value
    field: bool = False  # it is a random field over its rows, with a density of the table
    kinds: bool = False  # its columns have likelihoods of their own: it takes labels, and numbers as the table has them
    records: tuple[str, ...] = ()  # what its files hold: names of its own module, or whole paths
    statistics: tuple[str, ...] = ()  # what its folds leave in checkpoints, named likewise

    def lack(self, ability: str) -> str:
        """A word or two where it cannot do this, else an empty text."""
        return LACKS[ability] if ability in self.lacks_abilities else ""

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it cannot do, in a word or two each."""
        return tuple(words for ability, words in LACKS.items() if ability in self.lacks_abilities)

    @property
    def comparable(self) -> bool:
        """Whether `compare` has it: a model of the numbers alone, in units of their spread, that decodes or maps."""
        return not (self.asks or self.own_units or {"map", "decoder"} <= {*self.lacks_abilities})

    @property
    def public(self) -> bool:
        """Whether its class is a name of the package; a random projection is a floor to compare with."""
        return self.module.startswith("models.")

    def load_class(self) -> Any:
        """Its class."""
        return getattr(import_module(f"lowdim.{self.module}"), self.class_name)

    def most(self, q: int, auto: bool) -> int:
        """How many axes it gets where q were asked for, or (`auto`) where the jury found q straight ones."""
        limits = (self.most_axes, self.usual if auto else 0)
        return min([q, *(limit for limit in limits if limit)])

    def make(self, q: int | None, k: int = 3, seed: int = 0) -> Any:
        """The estimator, not yet fitted; without a q it begins with all axes there may be."""
        q = None if q is None else self.most(q, False)
        return self.load_class()(**self.options(q, k, seed))


def _spectral(class_name: str, module: str, about: str, question: str, **facts: Any) -> ModelEntry:
    """A map over pairs of rows: it places rows, new ones too, and says no more."""
    lacks = facts.pop("lacks_abilities", ("fills", "decoder", "density", "uncertainty"))
    facts = {"axes": True, "most_rows": 1000, "field": True, **facts}
    return ModelEntry(class_name, f"models.spectral.{module}", about, question, lacks_abilities=lacks, **facts)


_NEIGHBORS = "A map that keeps neighbours, or the distances along them?"
_DISTANCES = "A map of distances or similarities?"
_BENT = "A bent surface behind the columns, also of many rows?"
_GROUPS = "Are there groups of rows?"
_LOCAL = "Groups, each with axes of its own?"
_PRECOMPUTED = (("distances", "metric", "precomputed"),)
_LAPLACE = "Laplace's estimate, too high for rows of the fit"

ENTRIES = (
    ModelEntry(
        "ProbabilisticPCA", "models.linear.ppca",
        "x = W z + mu + e with one noise variance; closed form, or EM with gaps (`ld.PPCA` for short)",
        "How many dimensions? A map with gaps and uncertainty?", "lowdim report FILE", "ppca", "probabilistic PCA",
        records=("models.linear.linear_gaussian.LinearGaussianParams",), statistics=("maths.gaussian.Sums",),
    ),
    ModelEntry(
        "PCA", "models.linear.pca",
        "principal components as scikit-learn names them; solver by shape and conditioning; gaps by EM",
        "The same axes as other PCA software?", "", "pca", "PCA",
        records=("PCAParams",),
    ),
    ModelEntry(
        "FactorAnalysis", "models.linear.factor_analysis",
        "a noise variance for every column; maximum likelihood by Newton's method, rotations, goodness of fit",
        "Which hidden traits explain the correlations?", "", "fa", "factor analysis", factors=True,
        records=("maths.factor.GoodnessOfFit", "maths.factor_fit.FitIndices"),
    ),
    ModelEntry(
        "DualPPCA", "models.linear.dual_ppca",
        "loadings integrated out, positions fitted: for tables with many more columns than rows",
        "Many more columns than rows?", "", "dual", "dual PPCA", lacks_abilities=("density",),
        records=("DualPPCAParams",), statistics=("DualSums",),
    ),
    ModelEntry(
        "BayesianPCA", "models.linear.bayesian_pca",
        "variational Bayes: the table decides how many axes it supports, with a posterior of each; or Bishop's ARD",
        "How many axes does the table support, and how surely?", "", "bpca", "Bayesian PCA", begins=None,
        records=("BayesianPCAParams",),
    ),
    ModelEntry(
        "RobustPPCA", "models.linear.robust_ppca",
        "probabilistic PCA with Student's rows, degrees of freedom fitted: far rows turn no axis",
        "A map that far rows cannot turn?", "", "robust", "robust PPCA",
        records=("RobustPPCAParams",), statistics=("StudentSums",),
    ),
    ModelEntry(
        "MixedFactorAnalysis", "models.mixed.mixed_factors",
        "a likelihood for each column: real, yes/no, ordinal, count, label; gaps welcome, labels in and labels out",
        "Columns that are no real numbers?", "", "mixed", "mixed factor analysis", begins=8, kinds=True,
        estimate="a lower bound",
        records=("models.mixed.variational_em.MixedParams", "models.mixed.column_kinds.MixedColumns"),
        statistics=("models.mixed.variational_em.MixedSums", "models.mixed.column_kinds.ColumnLook"),
    ),
    ModelEntry(
        "GaussianMixture", "models.mixtures.mixture",
        "clusters of any covariance, gaps welcome; `ld.choose_clusters` finds how many",
        _GROUPS, "", "gmm", "Gaussian mixture", _parts, ("map",), covariances=True,
        records=("models.mixtures.parts.GaussianParams",), statistics=("maths.gaps.Scatter",),
    ),
    ModelEntry(
        "KMeans", "models.mixtures.kmeans", "the limit without noise, gaps welcome, streams",
        _GROUPS, "", "kmeans", "K-means", _clusters, ("density", "map"),
        records=("KMeansParams",), statistics=("maths.kmeans.ClusterSums",),
    ),
    ModelEntry(
        "KMedoids", "models.mixtures.kmedoids", "rows that stand for their cluster, for any dissimilarity",
        "Groups around rows, by any dissimilarity?", "", "kmedoids", "K-medoids", _medoids,
        ("fills", "decoder", "density", "map"), pairs=_PRECOMPUTED, most_rows=5000,
        slow="it weighs every pair of rows",
        records=("KMedoidsParams",),
    ),
    ModelEntry(
        "MixtureOfPPCA", "models.mixtures.mixture",
        "clusters with axes of their own and one noise variance each",
        _LOCAL, "", "mppca", "mixture of PPCA", _local, ("map",), local=True,
    ),
    ModelEntry(
        "MixtureOfFA", "models.mixtures.mixture", "the same with a noise variance for every column",
        _LOCAL, "", "mfa", "mixture of FA", _local, ("map",), local=True, factors=True,
    ),
    ModelEntry(
        "BayesianMixtureOfPPCA", "models.mixtures.bayesian_mixture",
        "the number of clusters, and of the axes of each, by the evidence in one fit",
        _LOCAL, "", "bmppca", "Bayesian mixture of PPCA", _local, ("map",), local=True, estimate="a lower bound",
        begins=None, clusters=6,
        records=("BayesianMixtureParams",),
    ),
    ModelEntry(
        "Mixture", "models.mixtures.mixture", "a mixture of any linear-Gaussian model",
        records=("models.mixtures.mixture.MixtureParams",),
        statistics=("models.mixtures.mixture.MixtureSums", "models.mixtures.starts.WithinSums"),
    ),
    ModelEntry(
        "ICA", "models.projections.ica", "independent sources behind the columns",
        "Independent sources behind the columns?", "", "ica", "ICA", _seeded,
        ("gaps", "fills", "density", "uncertainty"), axes=True,
        records=("ICAParams",),
    ),
    ModelEntry(
        "CCA", "models.projections.cca",
        "two views of the same rows: probabilistic CCA with gaps and both posteriors, four tests of each correlation",
        "What do two sets of columns share?", "lowdim fit FILE -m cca --views a:1-12,b:13-40", "cca",
        "canonical correlation", asks="views",
        records=("CCAParams", "models.projections.two_views.CanonicalTest"),
        statistics=("maths.gaps.Scatter",),
    ),
    ModelEntry(
        "LinearDiscriminant", "models.projections.linear_discriminant", "the directions that tell known classes apart",
        "What tells known classes apart?", "lowdim fit FILE -m lda --label COLUMN", "lda", "linear discriminant",
        lacks_abilities=("fills", "decoder", "density", "uncertainty"), axes=True, asks="classes",
        records=("LinearDiscriminantParams",), statistics=("ClassSums",),
    ),
    ModelEntry(
        "VarianceSelector", "models.projections.variance_selector", "the columns that vary most",
        "Which columns vary most?", "", "select", "variance selection",
        lacks_abilities=("fills", "density", "uncertainty"), axes=True, own_units=True,
        records=("VarianceSelectorParams",),
    ),
    ModelEntry(
        "MatrixFactorization", "models.ratings.factorization",
        "ratings of users and items: Bayesian, with standard deviations, new users in closed form",
        "Ratings of items by users?", "lowdim check FILE",
        records=(
            "models.ratings.predictions.RatingFactors",
            *(f"models.ratings.sweep.{name}" for name in ("VectorBeliefs", "VectorPrior", "Gamma")),
        ),
        statistics=("models.ratings.sweep.Sweep",),
    ),
    # bent sheets: decoded, they are no maps, so their places count
    ModelEntry(
        "GTM", "models.nonlinear.gtm",
        "a sheet of nodes bent through the table: gaps, density, uncertainty, magnification",
        _BENT, "", "gtm", "GTM", _gtm, axes=True, most_axes=3, usual=2,
        records=("GTMParams", "RBFBasis"), statistics=("models.nonlinear.node_model.NodeSums",),
    ),
    ModelEntry(
        "DensityNetwork", "models.nonlinear.density_network",
        "a Gaussian sample through a network: gaps, uncertainty, a density",
        _BENT, "", "density", "density network", _seeded, axes=True, most_axes=3, usual=2,
        estimate="an estimate by a drawn sample",
        records=("models.nonlinear.density_network_em.DensityNetworkParams",),
    ),
    ModelEntry(
        "NonlinearFactorAnalysis", "models.nonlinear.nonlinear_fa",
        "Gaussian factors through a network: gaps, uncertainty, a bound on the density",
        _BENT, "", "nlfa", "nonlinear factor analysis", _seeded, axes=True, most_axes=5, usual=2,
        estimate="a lower bound",
        records=("NonlinearFAParams",),
    ),
    ModelEntry(
        "GPLVM", "models.gaussian_process.gplvm", "smooth functions of the rows' places, with predictive variance",
        "The smoothest bent map of up to a few thousand rows?", "", "gplvm", "GP-LVM", _seeded, axes=True,
        most_rows=1000, usual=2, estimate=_LAPLACE, slow="its time grows with the cube of the rows",
        records=("GPLVMParams", "models.gaussian_process.gp.Kernel"),
    ),
    ModelEntry(
        "BayesianGPLVM", "models.gaussian_process.bayesian_gplvm", "the same; it says how many dimensions it needs",
        "The same, and how many dimensions it needs?", "", "bgplvm", "Bayesian GP-LVM", _seeded, axes=True,
        most_rows=1000, begins=10, needs="n_kept_", estimate=_LAPLACE,
        slow="each of several hundred steps goes through all pairs of its inducing points for every row",
        records=("BayesianGPLVMParams", "models.gaussian_process.gp.Kernel"),
        statistics=("models.gaussian_process.psi.PsiSums",),
    ),
    ModelEntry(
        "Autoencoder", "models.nonlinear.autoencoder",
        "a network to a few numbers and back; without hidden layers it is PCA; variational on request",
        "The fewest numbers from which a row can be made again?", "", "autoencoder", "autoencoder", _seeded,
        ("fills", "density", "uncertainty"), axes=True, usual=2,
        records=("AutoencoderParams",),
    ),
    _spectral(
        "Isomap", "isomap", "a map of the distances along a neighbourhood graph; pieces never dropped in silence",
        _NEIGHBORS, name="isomap", title="Isomap", pairs=_PRECOMPUTED,
        records=("IsomapParams",),
    ),
    _spectral(
        "LaplacianEigenmaps", "laplacian_eigenmaps", "a map that keeps neighbours near; new rows by one formula",
        _NEIGHBORS, name="le", title="Laplacian eigenmaps", pairs=_PRECOMPUTED,
        records=("LaplacianParams",),
    ),
    _spectral(
        "LocallyLinearEmbedding", "lle", "a map in which each row is made of its neighbours as in the table",
        _NEIGHBORS, name="lle", title="locally linear embedding", pairs=_PRECOMPUTED,
        records=("LLEParams",),
    ),
    _spectral(
        "MaximumVarianceUnfolding", "mvu", "unfolding that keeps neighbours' distances, with a certificate",
        _NEIGHBORS, name="mvu", title="maximum variance unfolding", most_rows=300,
        records=("MVUParams",),
    ),
    _spectral(
        "MaximumEntropyUnfolding", "meu", "unfolding by the random field that explains all of these",
        _NEIGHBORS, name="meu", title="maximum entropy unfolding", most_rows=300,
        records=("MEUParams",),
    ),
    _spectral(
        "ClassicalMDS", "mds", "a map from distances or similarities", _DISTANCES, name="mds", title="classical MDS",
        way="lowdim fit FILE -m mds --distances", pairs=(*_PRECOMPUTED, ("similarities", "metric", "similarity")),
        records=("MDSParams",),
    ),
    _spectral(
        "KernelPCA", "kernel_pca", "a map from kernels, with pre-images and landmarks for many rows",
        "A map by likeness of rows (a kernel), of columns or of similarities?",
        pairs=(("similarities", "kernel", "precomputed"),),
        name="kpca", title="kernel PCA", options=_seeded, lacks_abilities=("fills", "density", "uncertainty"),
        records=("KernelPCAParams",),
    ),
    ModelEntry(
        "RandomProjection", "judge.compare.random_projection", "a floor to compare with", name="random",
        title="random projection", options=_seeded, lacks_abilities=("density", "uncertainty"),
    ),
)  # fmt: skip
MODELS = {entry.class_name: f"lowdim.{entry.module}" for entry in ENTRIES if entry.public}  # what files may name
METHODS = {entry.name: entry for entry in ENTRIES if entry.name}
COMPARED = tuple(name for name, entry in METHODS.items() if entry.comparable)
FITTED = tuple(name for name, entry in METHODS.items() if entry.public)
ALWAYS = ("pca", "random")  # what everyone knows, and the floor

FUNCTIONS = {  # public names that are no models, and where they live
    "Moments": "engine.statistics", "PPCA": "models.linear.ppca", "Run": "engine.fold",
    "analyse": "jobs.analysis", "analyse_stream": "jobs.stream", "analyze": "jobs.analysis",
    "as_source": "sources.arrays", "best_of": "models.base.restarts", "best_of_checkpoint": "engine.checkpoint.store",
    "choose_clusters": "judge.clusters",
    "choose_dimension": "judge.dimensions.jury", "compare": "judge.compare.compare",
    "distance_law": "judge.dimensions.distance_law", "embedding_score": "judge.compare.embedding_score",
    "explore": "explorer.widget", "factorability": "judge.items",
    "fill": "judge.fills.fill", "fit_method": "jobs.one_model",
    "judge_map": "judge.compare.map_quality", "load": "storage.model_file", "load_run": "jobs.run_folder",
    "odd_rows": "jobs.analysis",
    "procrustes": "models.rotations", "read": "judge.read_table",
    "robust_fit": "judge.outliers.partition", "robust_map": "models.spectral.robust_map",
    "reliability": "judge.items", "rotate": "models.rotations",
    "stream": "sources.files.open", "subject": "jobs.table_model",
    "to_similarities": "models.spectral.pair_table", "to_squared_distances": "models.spectral.pair_table",
    "total_least_squares": "models.linear.whitening", "whiten": "models.linear.whitening",
}  # fmt: skip
MODULES = {"datasets": "datasets", "laws": "laws", "messages": "text.messages"}


ELSEWHERE = ("umap", "tsne", "t-sne", "phate", "trimap", "pacmap")  # maps of other packages


def find_method(name: str, among: tuple[str, ...] | None = None) -> ModelEntry:
    """The model of this short name, in capitals or not; one that is not among them is refused with those that are."""
    word, known = str(name).strip().lower(), tuple(METHODS) if among is None else among
    if word not in known:
        from difflib import get_close_matches

        near = get_close_matches(word, known, n=1)
        case = "elsewhere" if word in ELSEWHERE else "near" if near else ""
        raise error("LD290", name=name, known=", ".join(known), near="".join(near), case=case)
    return METHODS[word]


def entry_of(model: Any) -> ModelEntry | None:
    """The row of a model's class; None of a class that is not ours."""
    return next((entry for entry in ENTRIES if entry.class_name == type(model).__name__), None)


class Question(NamedTuple):
    """What a person may want to know, the classes that answer it, and what to type."""

    text: str
    answer: str
    how: str


def questions() -> tuple[Question, ...]:
    """What the models answer, in their order; then what the commands do."""
    texts = dict.fromkeys(entry.question for entry in ENTRIES if entry.question)
    by_text = {text: [entry for entry in ENTRIES if entry.question == text] for text in texts}
    ours = [
        Question(
            text, ", ".join(e.class_name for e in entries), entries[0].way or f"lowdim fit FILE -m {entries[0].name}"
        )
        for text, entries in by_text.items()
    ]
    return (
        *ours,
        Question("How good is a map made elsewhere?", "", "lowdim compare FILE --map xy.csv"),
        Question("Which of these, for this table?", "", "lowdim compare FILE"),
    )


# what files may hold: records and statistics by name, and the modules that define them
_SHARED_RECORDS = (
    "models.base.results.Certificate",
    "sources.views.Frame",
    "engine.statistics.Moments",
    *(f"models.spectral.completion.{name}" for name in ("Completion", "LinearCells", "Bells")),
)
_SHARED_STATISTICS = (
    *(f"engine.statistics.{name}" for name in ("BlockSurvey", "Columns", "Pairs", "Sum", "Triangle")),
    "models.base.calibration.HeldOutCells",
)


def _homes(shared: tuple[str, ...], field: str) -> dict[str, str]:
    """The module of each record by its name: what all models share, then what rows say in this field."""
    ours = [name if "." in name else f"{e.module}.{name}" for e in ENTRIES for name in getattr(e, field)]
    parts = [path.rpartition(".") for path in (*shared, *ours)]
    return {name: f"lowdim.{module}" for module, _, name in parts}


RECORDS = _homes(_SHARED_RECORDS, "records")
STATISTICS = _homes(_SHARED_STATISTICS, "statistics")
