"""The catalogue: one code, one text, used somewhere, and with a way out."""

from __future__ import annotations

import re
import string
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import lowdim
from lowdim import messages
from lowdim.text.errors import TableWarning
from lowdim.text.fix import Fix
from lowdim.text.messages import LowdimError, LowdimWarning, Message, catalogue

SOURCE = Path(messages.__file__).parents[1]
USED = {
    code
    for path in SOURCE.rglob("*.py")
    if not path.name.startswith(("messages", "catalogue"))
    for code in re.findall(r"\bLD\d{3}(?:\.\w+)?", path.read_text())
}
# notes that say what was done to a table: there is nothing to repair
NO_FIX_NEEDED = {code for code, entry in catalogue().items() if issubclass(entry.kind, TableWarning) and not entry.fix}


def filled(code: str) -> Message:
    entry = catalogue()[code]
    parts = (string.Formatter().parse(str(part)) for part in (entry.what, entry.why, entry.fix))
    names = {name for part in parts for _, name, _, _ in part if name}
    proposals = entry.fix.proposals if isinstance(entry.fix, Fix) else ()
    names |= {flag.option for proposal in proposals for flag in proposal.flags if flag.value is None}
    return messages.message(code, "row 3, column 'c1'", **{re.split(r"[.\[|]", name)[0]: 7.0 for name in names})


def test_every_code_is_used_and_every_used_code_exists():
    assert sorted(catalogue()) == sorted(USED)


def test_every_message_says_what_and_how_to_go_on():
    for code, entry in catalogue().items():
        made = filled(code)
        assert re.fullmatch(r"LD\d{3}(\.(table|damaged|text|columns|nodes|network|model))?", code)
        assert issubclass(entry.kind, LowdimError | LowdimWarning), code
        assert made.what and not made.what.startswith(" ") and not re.search(r"\{\w*[a-z]", str(made)), code
        assert made.fix or code in NO_FIX_NEEDED, code


def test_text_has_the_format_of_the_specification():
    """Code, severity, what; then where, why and fix, each on a line of its own, names in one column."""
    for code, entry in catalogue().items():
        lines = str(filled(code)).split("\n")
        warning = issubclass(entry.kind, LowdimWarning)
        severity = entry.severity or ("note" if warning else "error")
        assert severity in (("note", "changed") if warning else ("error",)), code
        assert lines[0].startswith(f"{code[:5]} {severity}  ")
        names = [re.fullmatch(r"  (where|why|fix) +(\S.*)", line) for line in lines[1:]]
        assert all(names) and all(line[10] != " " and line[9] == " " for line in lines[1:]), code
        order = [name.group(1) for name in names if name]
        assert order == [name for name in ("where", "why", "fix") if name in order], code


def test_errors_carry_their_code_fix_and_message():
    made = messages.error("LD120", column="x")
    assert (made.code, made.fix) == ("LD120", "leave the column out") and isinstance(made.message, Message)
    assert "Column 'x' is completely empty" in str(made) and isinstance(made, ValueError)
    assert messages.LowdimError("plain").code == ""


def test_warnings_point_at_the_callers_line():
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        lowdim.PCA(1).fit([[1.0, 1.0], [1.0, 1.0]])
    assert given and all(w.filename == __file__ for w in given)


# --- what importing costs, and what it offers


def child(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_lowdim_is_light():
    found = child(
        "import sys, lowdim; print([m for m in ('sklearn', 'scipy', 'pandas', 'pyarrow', 'polars', 'numpy') "
        "if m in sys.modules])"
    )
    assert found == "[]"


def test_public_names_resolve():
    for name in lowdim.__all__:
        assert getattr(lowdim, name) is not None and name in dir(lowdim)


def test_other_names_do_not():
    with pytest.raises(AttributeError, match="no attribute 'PCB'"):
        _ = lowdim.PCB
