"""The page's JavaScript as one text: the module's files in order, without the lines that tie them together.

The files import each other, so that editors and the type checker understand them; their names are all different, so
that one after the other they make one module, which is what a notebook, a report and a single request want.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

MODULE = (
    "packed.js",
    "words.js",
    "row_panel.js",
    "draw.js",
    "controls.js",
    "pictures.js",
    "grid.js",
    "raster.js",
    "scatter.js",
    "source.js",
    "rows.js",
    "address.js",
    "screen_row.js",
    "screen_map.js",
    "screen_place.js",
    "screen_dimensions.js",
    "screen_gaps.js",
    "keys.js",
    "explore.js",
)
REPORT_CORE = (  # what hide-a-cell needs, offline: there the page works the card out
    "packed.js",
    "laws.js",
    "posterior.js",
    "words.js",
    "row_panel.js",
    "row_card.js",
    "report_row.js",
)
TIES = re.compile(r"^import [^;]*;\n|^export (?!default)", re.MULTILINE)
REMARKS = re.compile(r"/\*\*[\s\S]*?\*/ ?|^\s*//.*\n|(?<=[;,{]) // .*$|^\s*\n|^ +", re.MULTILINE)


def web_file(name: str) -> str:
    """A file of the page."""
    return (files("lowdim.explorer") / "web" / name).read_text(encoding="utf-8")


@cache
def joined(names: tuple[str, ...] = MODULE, *, remarks: bool = True) -> str:
    """The files one after the other; without `remarks` comments and indentation are left out.

    >>> joined().rstrip().endswith("export default {render};")
    True
    """
    text = "\n".join(TIES.sub("", web_file(name)) for name in names)
    return text if remarks else re.sub(r"\n\s*\n", "\n", REMARKS.sub("", text))
