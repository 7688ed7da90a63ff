"""What the tests of the report share: tables with names and values that can be found again, and a parsed page."""

from __future__ import annotations

import atexit
import csv
import functools
import shutil
import tempfile
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from lowdim.jobs.analysis import Analysis, analyse
from lowdim.judge.read_table import read
from lowdim.report import report_html

VOID = {"meta", "link", "br", "img", "input", "hr"}
CHART_TAGS = {
    "svg",
    "title",
    "desc",
    "defs",
    "g",
    "path",
    "use",
    "text",
    "tspan",
    "image",
    "clippath",
    "rect",
    "circle",
    "polyline",
    "pattern",
}
PAGE_TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "a",
    "header",
    "h1",
    "h2",
    "h3",
    "p",
    "nav",
    "ul",
    "ol",
    "li",
    "main",
    "section",
    "div",
    "span",
    "strong",
    "code",
    "pre",
    "details",
    "summary",
    "figure",
    "figcaption",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "dl",
    "dt",
    "dd",
    "script",
}
SPECIAL = [
    "<script>pwned=1</script>",
    "<img src=x onerror=pwned=1>",
    '"><svg onload=pwned=1>',
    "'><b onclick=pwned=1>x",
    "</title><script>pwned=1</script>",
    "</style><script>pwned=1</script>",
    "</script><script>pwned=1</script>",
    "</desc><script>pwned=1</script>",
    "</text><image href=http://a.example/x>",
    "javascript:pwned=1",
    "data:text/html,<script>pwned=1</script>",
    "{{ 7*7 }}",
    "{% include 'style.css' %}",
    "${pwned=1}",
    "`pwned`",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "<!-- ",
    "-->",
    "]]>",
    "<![CDATA[x",
    "\\u003cscript\\u003e",
    "' style='x:expression(pwned)'",
    '" autofocus onfocus="pwned=1',
    "a\u202eb\u200bc",
    "\x1b[31mred",
    "x\x00y",
    '=HYPERLINK("http://a.example")',
    "$\\frac{1}{2}$",
    "<iframe srcdoc='<script>pwned=1</script>'>",
]


def table(
    folder: Path,
    *,
    n: int = 60,
    d: int = 6,
    q: int = 2,
    name: str = "field trial.csv",
    seed: int = 3,
    columns: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    labels: Sequence[str] = ("lbl-qa", "lbl-qb", "lbl-qc"),
    label_name: str = "site",
    gaps: float = 0.06,
) -> Path:
    """A table of low rank with gaps, one odd row, names for rows, a label; values of six digits, easy to search for."""
    rng = np.random.default_rng([seed, n, d])
    W = rng.normal(size=(q, d)) * 1500.0
    X = 50_000.0 + rng.normal(size=(n, q)) @ W + rng.normal(size=(n, d)) * 600.0
    X[7, 2] += 12_000.0
    gap = rng.random(X.shape) < gaps
    gap[7] = False
    path = folder / name
    header = ["plot_id", label_name, *(columns or [f"v{j + 1}" for j in range(d)])]
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(header)
        for i in range(n):
            row = ["" if gap[i, j] else f"{X[i, j]:.1f}" for j in range(d)]
            writer.writerow([ids[i] if ids else f"zq-{i:04d}", labels[i % len(labels)], *row])
    return path


@functools.cache
def folder() -> Path:
    """A folder that lasts as long as the tests."""
    made = tempfile.mkdtemp(prefix="lowdim-report-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@functools.cache
def small() -> Analysis:
    return analyse(read(table(folder()), id="plot_id", label="site"))


@functools.cache
def hostile() -> Analysis:
    """Every payload as a row's name, as a column's name or a label, one as the file's name."""
    ids = [  # a table with a NUL byte is not read at all
        f"{text} {i}" for i in range(2) for text in SPECIAL if "\0" not in text
    ]
    path = table(
        folder(),
        n=len(ids),
        name="<img src=x onerror=pwned=1>'\".csv",
        ids=ids,
        labels=SPECIAL[12:16],
        columns=[SPECIAL[k] for k in (0, 1, 2, 4, 22, 28)],
        label_name=SPECIAL[5],
    )
    return analyse(read(path, id="plot_id"), dims=3)


def page(name: str, rows: bool = True) -> str:
    return _page(name, rows)


@functools.cache
def _page(name: str, rows: bool) -> str:
    return report_html({"small": small, "hostile": hostile}[name](), rows=rows, when="2026-01-02 03:04 UTC")


@functools.cache
def file(name: str, rows: bool = True) -> Path:
    path = folder() / f"{name}-{rows}.html"
    path.write_text(page(name, rows), encoding="utf-8")
    return path


class Outline(HTMLParser):
    """The elements of a page with their attributes, and whether they nest as they should."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.wrong: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if len({key for key, _ in attrs}) != len(attrs):
            self.wrong.append(f"an attribute twice in {tag}")
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append(f"</{tag}> out of place at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"a comment: {data[:50]}")

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Tags and names of attributes, in order: what a name in a table must never change."""
        return [(tag, tuple(sorted(attrs))) for tag, attrs in self.elements]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]
