"""Pages that follow from the code: messages, commands, the flow chart of methods, the API and the benchmarks."""

from __future__ import annotations

import html
import re
from pathlib import Path

import click
import reach

import lowdim
from lowdim.cli.entry import every_command
from lowdim.plot.registry import descriptions
from lowdim.registry import ENTRIES, FUNCTIONS, MODELS, MODULES, Question, questions
from lowdim.text.messages import Entry, catalogue

ROOT = Path(__file__).resolve().parents[2]
FACT = re.compile(r"\{([^{}!:]*)[^{}]*\}")
KINDS = {
    "LD0": "Commands and files",
    "LD1": "Reading a table",
    "LD2": "Options, fits and new rows",
    "LD3": "Files and runs",
    "LD4": "Maps, mixtures and bent models",
    "LD5": "Charts and pages",
}


def write(folder: Path) -> None:
    """Write every derived page; a page that has not changed keeps its date, so that it is not built again."""
    pages = {
        "messages.md": messages(),
        "flow_chart.html": flow_chart(),
        "commands.md": commands(),
        "reach.md": reach.page(ROOT / "docs" / "gallery"),
        **api(),
        **benchmarks(),
    }
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# --- messages ---------------------------------------------------------------------------------------------------
def messages() -> str:
    """Every message with its code, in the order of the codes."""
    lines = ["# Every message", ""]
    lines += [
        "What is in angle brackets is filled in when it is given. `lowdim help LD104` says the same in a terminal.",
        "",
    ]
    kind = ""
    for code, entry in sorted(catalogue().items()):
        if code[:3] != kind:
            kind = code[:3]
            lines += [f"## {KINDS.get(kind, kind)}", ""]
        lines += message(code, entry)
    return "\n".join(lines)


def message(code: str, entry: Entry) -> list[str]:
    severity = entry.severity or ("note" if issubclass(entry.kind, Warning) else "error")
    lines = [f"### {code}", "", f"*{severity}, `{entry.kind.__name__}`*", "", plain(entry.about or entry.what), ""]
    if entry.about:
        lines += [f"says: {plain(entry.what)}", ""]
    if entry.why and not FACT.fullmatch(entry.why):
        lines += [f"why: {plain(entry.why)}", ""]
    if str(entry.fix) and not FACT.fullmatch(str(entry.fix)):
        lines += [f"fix: {plain(str(entry.fix))}", ""]
    return lines


def plain(text: str) -> str:
    """A template as text: its facts in angle brackets, nothing in it taken for Markdown."""
    text = FACT.sub(lambda found: f"‹{re.split(r'[.[]', found[1])[0]}›", text.replace("{{", "(").replace("}}", ")"))
    return re.sub(r"([\\`*_\[\]<>#|$])", r"\\\1", text.replace("\n", " "))


# --- which method -----------------------------------------------------------------------------------------------
def flow_chart() -> str:
    """The registry's questions from top to bottom: no goes on, yes leads to the models that answer and what to type."""
    return '<ol class="flow-chart">\n' + "\n".join(map(step, questions())) + "\n</ol>\n"


def step(question: Question) -> str:
    """One question with its answer beside it."""
    named = f"<div>{linked(question.answer)}</div>" if question.answer else ""
    typed = f"<code>{html.escape(question.how)}</code>"
    return (
        f'<li><div class="asked">{html.escape(question.text)}</div><div class="yes">yes</div>'
        f'<div class="answer">{named}{typed}</div><div class="no">no</div></li>'
    )


def linked(line: str) -> str:
    """The models of a line, each leading to its page."""
    return re.sub(
        r"\w+", lambda m: f'<a href="_generated/api/lowdim.{m[0]}.html">{m[0]}</a>' if m[0] in MODELS else m[0], line
    )


# --- commands ---------------------------------------------------------------------------------------------------
def commands() -> str:
    """Every command with its help, and every plot with a line about it."""
    lines = ["# Commands and plots", "", "`lowdim COMMAND --help` says the same in a terminal.", ""]
    for name, command in every_command().items():
        with click.Context(command, info_name=f"lowdim {name}", max_content_width=100, terminal_width=100) as context:
            lines += [f"## lowdim {name}", "", "```text", command.get_help(context).rstrip(), "```", ""]
    lines += ["## Named plots", "", "`lowdim plot NAME TABLE -o picture.svg`; in Python `analysis.plot.NAME()`.", ""]
    lines += ["| plot | what it shows |", "| --- | --- |"]
    lines += [f"| `{name}` | {plain(about)} |" for name, about in sorted(descriptions().items())]
    return "\n".join([*lines, ""])


# --- API --------------------------------------------------------------------------------------------------------
def api() -> dict[str, str]:
    """The list of all public names; autosummary makes a page of each."""
    functions = [name for name in FUNCTIONS if name != "PPCA"]
    models = "".join(f"   lowdim.{entry.class_name}\n" for entry in ENTRIES if entry.public)
    classes = "".join(f"   lowdim.{name}\n" for name in functions if name[0].isupper())
    plain_functions = "".join(f"   lowdim.{name}\n" for name in functions if not name[0].isupper())
    assert set(MODELS) | set(FUNCTIONS) | set(MODULES) == set(lowdim.__all__)
    head = ".. autosummary::\n   :toctree: .\n   :nosignatures:\n\n"
    page = (
        "API\n===\n\n``import lowdim as ld``. ``ld.PPCA`` is short for ``ld.ProbabilisticPCA``, ``ld.analyze`` is "
        "``ld.analyse``.\n\nModels\n------\n\n"
        f"{head}{models}\nRecords\n-------\n\n{head}{classes}\nFunctions\n---------\n\n{head}{plain_functions}\n"
        f"Tables to learn with\n--------------------\n\n{head}   lowdim.datasets.load\n   lowdim.datasets.load_demo\n"
        "   lowdim.datasets.faithful\n   lowdim.datasets.cities\n   lowdim.datasets.oil_flow\n"
        "   lowdim.datasets.digit3\n\n"
        f"Laws\n----\n\n{head}   lowdim.laws.check\n\n"
    )
    return {"api/index.rst": page}


# --- benchmarks -------------------------------------------------------------------------------------------------
def benchmarks() -> dict[str, str]:
    """Copies of the measured pages, so that links between them and the site hold."""
    pages = {f"benchmarks/{path.name}": path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.md")}
    order = sorted(pages, key=lambda name: (name != "benchmarks/results.md", name))
    listed = "\n".join(Path(name).stem for name in order)
    pages["benchmarks/index.md"] = (
        "# Benchmarks\n\nMeasured, each page by the command it names; read the ratios, seconds belong to a machine."
        f"\n\n```{{toctree}}\n:maxdepth: 1\n{listed}\n```\n"
    )
    return {name: re.sub(r"\]\(\.\./docs/", "](../../", levelled(text)) for name, text in pages.items()}


def levelled(text: str) -> str:
    """A page in which no level of headings is left out: a site makes its contents of them."""
    lines, level, fenced = text.split("\n"), 0, False
    for k, line in enumerate(lines):
        fenced ^= line.startswith("```")
        heading = re.match(r"#+(?= )", line)
        if heading and not fenced:
            level = min(len(heading[0]), level + 1)
            lines[k] = "#" * level + line[heading.end() :]
    return "\n".join(lines)
