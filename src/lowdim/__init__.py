"""lowdim: what is this table really made of?"""
from __future__ import annotations

from importlib import import_module
from typing import Any

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
    "rotate": "math.rotate",
    "procrustes": "math.rotate",
    "whiten": "models.functions",
    "total_least_squares": "models.functions",
    "load": "persist",
    "read": "data.table",
    "analyse": "analysis",
    "choose_dimension": "judge.dimensions",
    "distance_law": "judge.distances",
    "load_run": "runs",
    "datasets": "",
    "laws": "",
    "messages": "",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use: `import lowdim` itself stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lowdim' has no attribute '{name}'")
    if not _HOMES[name]:
        return import_module(f"lowdim.{name}")
    return getattr(import_module(f"lowdim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
