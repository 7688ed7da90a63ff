"""Write what stands in a file and is derived from `lowdim.registry`; a test says when it is out of date."""

from __future__ import annotations

import re
from pathlib import Path

from lowdim.registry import ENTRIES, FUNCTIONS, MODELS, MODULES

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "lowdim" / "__init__.pyi"
README = ROOT / "README.md"
TABLE = re.compile(r"(?<=<!-- models -->\n).*?(?=<!-- /models -->)", re.DOTALL)


def stub() -> str:
    """The public names for editors and type checkers, which cannot follow lazy ones."""
    homes = MODELS | {name: f"lowdim.{module}" for name, module in FUNCTIONS.items()}
    lines = [f"from {homes[name]} import {name} as {name}" for name in homes]
    for name, module in MODULES.items():
        package, _, last = f"lowdim.{module}".rpartition(".")
        lines.append(f"from {package} import {last} as {name}")
    names = "".join(f'    "{name}",\n' for name in sorted([*homes, *MODULES]))
    return (
        "# ruff: noqa: RUF022\n"
        '"""Made by `make derive`; lowdim/registry.py is what to edit."""\n\n'
        + "\n".join(sorted(lines))
        + f"\n\n__version__: str\n__all__ = [\n{names}]\n"
    )


def readme() -> str:
    """README with its table of models."""
    rows = "".join(f"| `ld.{entry.class_name}` | {entry.about} |\n" for entry in ENTRIES if entry.public)
    return TABLE.sub(f"| model | what it is |\n| --- | --- |\n{rows}", README.read_text(encoding="utf-8"))


def main() -> None:
    STUB.write_text(stub(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
