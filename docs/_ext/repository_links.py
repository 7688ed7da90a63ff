"""Links of a page that lead out of docs/: to a derived copy where the site has one, else to the repository."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

REPOSITORY = "https://github.com/lowdim/lowdim/blob/main/"
GALLERY = re.compile(r"`gallery/([\w/]+)\.py`")
OUTWARD = re.compile(r"\]\(\.\./([^)#\s]+)(#[^)]*)?\)")


def outward(text: str, page: Path, docs: Path) -> str:
    """The text of a page with its links to ../ made to work on the site."""

    def link(found: re.Match[str]) -> str:
        path, anchor = found[1], found[2] or ""
        if (page.parent / ".." / path).resolve().is_relative_to(docs.resolve()):
            return found[0]
        copy = docs / "_generated" / path
        up = "../" * (len(page.relative_to(docs).parts) - 1)
        return f"]({up}_generated/{path}{anchor})" if copy.exists() else f"]({REPOSITORY}{path})"

    return GALLERY.sub(r"[\1](_generated/gallery/\1.rst)", OUTWARD.sub(link, text))


def rewrite(app: Sphinx, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    if page.suffix == ".md":
        source[0] = outward(source[0], page, Path(app.srcdir))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
