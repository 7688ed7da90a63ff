"""What a view offers to copy gives its numbers again: every Python text is executed, every command is run."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import shlex
from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.explorer.endpoints import Endpoints
from lowdim.explorer.server import ExploreServer, serving
from lowdim.jobs.table_model import subject
from tests.browser.chrome import Chrome, browser
from tests.browser.explorer import Explorer
from tests.cli.calls import in_process
from tests.explorer import subjects

pytestmark = pytest.mark.skipif(browser() is None, reason="no browser")
CLOSE = {"rel": 1e-9, "abs": 1e-9}
GROUP = "3-30"  # as the rows are named


def same(mine: Any, theirs: Any) -> None:
    """The same numbers, None where there is none."""
    a, b = (np.array(part, dtype=np.float64) for part in (mine, theirs))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def executed(code: str) -> dict[str, Any]:
    """The names that a copied text leaves behind; it may import lowdim and NumPy, and of lowdim only public names."""
    tree = ast.parse(code)
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert set(imported) <= {"lowdim", "numpy"} and not [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "ld"}
    assert used <= set(lowdim.__all__)
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr.startswith("_")]
    left: dict[str, Any] = {}
    with contextlib.chdir(subjects.folder()), contextlib.redirect_stdout(io.StringIO()):
        exec(code, left)
    return left


def ran(page: Explorer, command: str) -> Any:
    """What a copied command says, as JSON; of one that opens a view again, the page must say the same there."""
    words = shlex.split(command)
    assert words[0] == "lowdim"
    if words[1] == "explore":
        told = page.numbers
        done = in_process(*words[1:], "--no-browser", "--json", cwd=subjects.folder())
        address = json.loads(done.out)["address"]
        page.visit(address.partition("#")[2])  # it says no more than this: the server of the page goes on
        assert page.numbers == told and address.endswith(f"/#{words[4]}")
        return None
    done = in_process(*words[1:], "--json", cwd=subjects.folder())
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """`lowdim explore` waits for Ctrl-C."""
    monkeypatch.setattr("lowdim.cli.run.explore.wait", lambda: None)


def row_view(told: Any, card: Any, left: dict[str, Any]) -> None:
    for name in ("D2", "p", "T2", "Q"):
        same(told[name], getattr(left["card"], name))
    for name in ("expected", "sd", "surprise"):
        same(told[name], [getattr(c, name) for c in left["card"].cells])
        same(told[name], [c[name] for c in card["card"]["cells"]])


def group_view(told: Any, card: Any, left: dict[str, Any]) -> None:
    assert told["rows"] == list(left["card"].rows) == card["card"]["rows"]
    for mine, theirs, printed in zip(told["columns"], left["card"].columns, card["card"]["columns"], strict=True):
        assert mine["name"] == theirs.name == printed["name"]
        for name in ("group", "others", "difference", "p", "low", "high"):
            same(mine[name], getattr(theirs, name))
            same(mine[name], printed[name])


def map_view(told: Any, card: Any, left: dict[str, Any]) -> None:
    same([told["x"], told["y"]], [left["x"][told["row"]], left["y"][told["row"]]])


def place_view(told: Any, card: Any, left: dict[str, Any]) -> None:
    for name, key in (("mean", "value"), ("low", "low"), ("high", "high")):
        same(told[name], [getattr(c, key) for c in left["card"].cells])
        same(told[name], [c[key] for c in card["card"]["cells"]])
    same(told["z"], left["card"].place)


def dimensions_view(told: Any, card: Any, left: dict[str, Any]) -> None:
    values = left["jury"].eigenvalues
    same(told["kept"], values[: told["cut"]].sum() / values.sum())
    same(told["skill"], next(row.skill for row in left["jury"].rows if row.q == told["cut"]))
    if card is not None:  # as fitted; a moved cut opens its view again
        same(told["skill"], next(row["skill"] for row in card["rows"] if row["q"] == told["cut"]))


def gap_view(told: Any, card: Any, left: dict[str, Any]) -> None:
    for fills in ([f._asdict() for f in left["card"].fills], card["card"]["fills"]):
        assert any(
            told["fill"] == pytest.approx(f["fill"], **CLOSE)
            and [told["low"], told["high"]] == pytest.approx([f["lower"], f["upper"]], **CLOSE)
            for f in fills
        )


def check_copies(chrome: Chrome, server: ExploreServer, view: str, check: Any) -> None:
    page = Explorer(chrome, server.address, view)
    command, python = page.tab.js("[...document.querySelectorAll('.again code')].map(code => code.textContent)")
    check(page.numbers, ran(page, command), executed(python))
    assert page.complaints() == []


def slow(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "check"),
    [
        ("screen=row&row=20&hide=magnesium&set=proline%3D700.5", row_view),
        ("screen=place&place=0.25,-1.5,0.125", place_view),
        (f"screen=map&group={GROUP}", group_view),
        slow("screen=map&row=7", map_view),
        slow("screen=map&row=7&ax=column/2&ay=order", map_view),
        slow("screen=dimensions", dimensions_view),
        slow("screen=dimensions&cut=2", dimensions_view),
        slow("screen=gaps", gap_view),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_copied_gives_the_same_numbers(chrome, odd, view, check):
    check_copies(chrome, odd, view, check)


def bent_row(told: Any, card: Any, left: dict[str, Any]) -> None:
    same(told["z"], left["posterior"].mean[0])
    same(told["cov"], left["posterior"].cov[0].ravel())


def bent_gap(told: Any, card: Any, left: dict[str, Any]) -> None:
    same(told["fill"], left["fill"])


@pytest.mark.slow
def test_what_is_copied_of_a_bent_model_gives_the_same_numbers(chrome):
    """A run of one model without a law of distances, and one whose columns are told in logarithms."""
    subjects.lognormal()
    done = in_process("fit", "logs.csv", "-m", "gtm", "--dims", "2", "--log", "price,area+0.05", cwd=subjects.folder())
    assert done.code == 0, done.err
    with contextlib.chdir(subjects.folder()):
        found = subject("logs.gtm.run")
    with serving(Endpoints(found)) as server:
        check_copies(chrome, server, "screen=row&row=5&hide=area&set=price%3D2.5", bent_row)
        check_copies(chrome, server, "screen=map&row=5", map_view)
        check_copies(chrome, server, "screen=place&place=0.25,-0.5", place_view)
        check_copies(chrome, server, "screen=gaps", bent_gap)
        check_copies(chrome, server, "screen=map&group=3-30", lambda told, card, left: same(
            [c["difference"] for c in told["columns"]], [c.difference for c in left["card"].columns]
        ))  # fmt: skip
