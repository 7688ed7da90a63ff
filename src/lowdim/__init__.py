"""lowdim: what is this table really made of?"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that editors and type checkers know what the lazy names are
    from lowdim import datasets, laws, messages
    from lowdim.analysis import analyse
    from lowdim.data.arrays import as_source
    from lowdim.data.files import stream
    from lowdim.data.table import read
    from lowdim.engine.fold import Run
    from lowdim.engine.merge import Moments
    from lowdim.judge.dimensions import choose_dimension
    from lowdim.judge.distances import distance_law
    from lowdim.math.rotate import procrustes, rotate
    from lowdim.models.dual import DualPPCA
    from lowdim.models.factor_analysis import FactorAnalysis
    from lowdim.models.functions import total_least_squares, whiten
    from lowdim.models.linear import PPCA, ProbabilisticPCA
    from lowdim.models.pca import PCA
    from lowdim.persist import load
    from lowdim.runs import load_run
    from lowdim.streaming import analyse_stream

__version__ = "0.1.0"

_HOMES = {
    "PCA": "models.pca",
    "ProbabilisticPCA": "models.linear",
    "PPCA": "models.linear",
    "FactorAnalysis": "models.factor_analysis",
    "DualPPCA": "models.dual",
    "Moments": "engine.merge",
    "Run": "engine.fold",
    "as_source": "data.arrays",
    "stream": "data.files",
    "rotate": "math.rotate",
    "procrustes": "math.rotate",
    "whiten": "models.functions",
    "total_least_squares": "models.functions",
    "load": "persist",
    "read": "data.table",
    "analyse": "analysis",
    "analyse_stream": "streaming",
    "choose_dimension": "judge.dimensions",
    "distance_law": "judge.distances",
    "load_run": "runs",
    "datasets": "",
    "laws": "",
    "messages": "",
}
__all__ = [
    "PCA",
    "PPCA",
    "DualPPCA",
    "FactorAnalysis",
    "Moments",
    "ProbabilisticPCA",
    "Run",
    "analyse",
    "analyse_stream",
    "as_source",
    "choose_dimension",
    "datasets",
    "distance_law",
    "laws",
    "load",
    "load_run",
    "messages",
    "procrustes",
    "read",
    "rotate",
    "stream",
    "total_least_squares",
    "whiten",
]


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use: `import lowdim` itself stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lowdim' has no attribute '{name}'")
    if not _HOMES[name]:
        return import_module(f"lowdim.{name}")
    return getattr(import_module(f"lowdim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
