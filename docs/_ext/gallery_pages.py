"""Pages of the gallery: which are executed, and how their plots and figures are kept."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

from lowdim.datasets.real import REAL_TABLES
from lowdim.plot.base import Plot

LOADED = re.compile(r'\bload\(\s*"(\w+)"')
SLOW = re.compile(r"^# slow:", re.MULTILINE)  # a page says so in its first lines of code


def tables_needed(page: Path) -> list[str]:
    """The real tables that a page loads and that are not in the folder of data."""
    home = Path(os.environ.get("LOWDIM_DATA", "."))
    names = [name for name in LOADED.findall(page.read_text(encoding="utf-8")) if name in REAL_TABLES]
    return [name for name in names if not (home / REAL_TABLES[name].file).is_file()]


def pages(folder: Path) -> list[Path]:
    """Every page, in the order of the texts."""
    return sorted(folder.glob("[0-9]*/*.py"))


def is_slow(page: Path) -> bool:
    return bool(SLOW.search(page.read_text(encoding="utf-8")))


def executed(folder: Path, quick: bool) -> str:
    """A pattern that matches the pages to execute; others are shown as text, and the log says why."""
    chosen = []
    for page in pages(folder):
        missing = tables_needed(page)
        if missing:
            print(f"gallery: {page.name} is not executed: LOWDIM_DATA has no {', '.join(missing)}")
        elif quick and is_slow(page):
            print(f"gallery: {page.name} is not executed in the quick build")
        else:
            chosen.append(re.escape(page.name))
    return "/(" + "|".join(chosen or ["none"]) + ")$"


def plots_and_figures(block: Any, variables: dict[str, Any], conf: dict[str, Any], **options: Any) -> str:
    """Keep every plot that a block of a page has made, as SVG, then the figures of pyplot."""
    seen: set[int] = variables.setdefault("lowdim_plots", set())
    paths = []
    for value in list(variables["example_globals"].values()):
        if isinstance(value, Plot) and id(value) not in seen:
            seen.add(id(value))
            path = Path(next(variables["image_path_iterator"])).with_suffix(".svg")
            value.save(path)
            paths.append((str(path), value.sentence))
    ours = "".join(figure_rst([path], conf["src_dir"], alt) for path, alt in paths)
    return ours + str(matplotlib_scraper(block, variables, conf, format="svg", **options))
