"""Docstrings as the site wants them: names with a trailing underscore are names, and only our own verbs are listed."""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature

from lowdim.models.base.estimator import Estimator

# fitted attributes end in an underscore, which reStructuredText takes for a link
NAME = re.compile(r"(`+[^`]*`+)|\b(\w*[A-Za-z0-9])_(?=[\s,.;:)\]'=]|$)")
INITIAL = re.compile(r"^(\s*(?:and )?[A-Z])\. ")  # of an author, which would begin a list
BAR = re.compile(r"(`+[^`]*`+)|(?<!\\)([|*])(?=\S)")


def escaped(line: str) -> str:
    """A line of a docstring in which underscores at the end of names, stars and bars stand for themselves."""
    if line.lstrip().startswith((">>>", "...", "..", "-", "=")):
        return line
    line = INITIAL.sub(r"\1\\. ", line)
    line = NAME.sub(lambda m: m[1] or f"{m[2]}\\_", line)
    return BAR.sub(lambda m: m[1] or f"\\{m[2]}", line)


def names(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape what is text; examples are left as they are."""
    in_example = False
    for k, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[k] = escaped(line)


def ours(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn or Python gives to every class."""
    home = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None) or ""
    return True if what == "class" and not home.startswith("lowdim") else None


def options_of_class(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, annotation: str | None
) -> tuple[str, None] | None:
    """The options of a model as its constructor has them; `__new__` takes any word, to refuse it in words."""
    if what != "class" or not issubclass(obj, Estimator):
        return None
    return stringify_signature(inspect.signature(obj), show_annotation=False, show_return_annotation=False), None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", names, priority=100)  # before numpydoc takes them apart
    app.connect("autodoc-skip-member", ours)
    app.connect("autodoc-process-signature", options_of_class)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
