"""Tables as callers from Python pass them: errors whose fixes are calls, as those of the command line are flags."""

from __future__ import annotations

import ast
import re
import shlex

import numpy as np
import pytest

import lowdim as ld
from lowdim.judge.read_table import numbers_of
from lowdim.table.options import ReadingOptions
from lowdim.text.messages import LowdimError, Message
from tests.table.flags import options_from_flags
from tests.table.make_bad_tables import FOLDER

GOLDEN = sorted(path.name.removesuffix(".golden") for path in FOLDER.glob("*.golden"))


def stopped(name: str) -> tuple[tuple[Message, ...], LowdimError] | None:
    """What `lowdim.read` says of a bad table that cannot be analysed."""
    first = (FOLDER / f"{name}.golden").read_text(encoding="utf-8").splitlines()[0]
    try:
        ld.read(FOLDER / name, **options_from_flags(shlex.split(re.sub(r"^exit \d\s*", "", first))))
    except LowdimError as problem:
        return tuple(getattr(problem, "messages", (problem.message,))), problem
    return None


@pytest.mark.parametrize("name", GOLDEN)
def test_a_fix_in_python_has_calls_and_no_flags(name):
    found = stopped(name)
    for m in found[0] if found else ():
        text = str(m.fix)
        assert not re.search(r"(^|\s)--[a-z]|\blowdim [a-z]", text), text
        for call in re.findall(r"ld\.read\(.*?\)(?=$|\n|,? |  )", text):
            keywords = [
                k.arg for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Call) for k in node.keywords
            ]
            assert keywords and set(keywords) <= set(ReadingOptions._fields)
    assert found is None or found[1].fix == str(found[0][[m.severity for m in found[0]].index("error")].fix)


def test_read_is_the_reading_of_tables():
    from lowdim.table.read import read

    table = ld.read(np.arange(12.0).reshape(4, 3) ** 2)
    assert ld.read.__doc__ == read.__doc__ and ld.read(table) is table


def test_numbers_of_a_path_a_frame_and_an_array(tmp_path):
    X = np.random.default_rng(0).standard_normal((6, 2))
    np.save(tmp_path / "t.npy", X)
    read_one, unit, table = numbers_of(tmp_path / "t.npy", None)
    assert unit and table is not None and read_one.d == 2
    as_it_is, unit, none = numbers_of(X, False)
    assert not unit and none is None and as_it_is.n == 6
