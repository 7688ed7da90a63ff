"""lowdim: what is this table really made of?"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lowdim.registry import FUNCTIONS, MODELS, MODULES

__version__ = "0.1.0"
__all__ = sorted([*MODELS, *FUNCTIONS, *MODULES])


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use: `import lowdim` itself stays quick."""
    if name not in __all__:
        raise AttributeError(f"module 'lowdim' has no attribute '{name}'")
    if name in MODULES:
        found: Any = import_module(f"lowdim.{MODULES[name]}")
    else:
        found = getattr(import_module(MODELS[name] if name in MODELS else f"lowdim.{FUNCTIONS[name]}"), name)
    globals()[name] = found  # the next time Python finds it by itself
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
