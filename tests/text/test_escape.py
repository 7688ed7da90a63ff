"""Text that comes from a table can neither run in a spreadsheet nor steer a terminal or a shell."""

from __future__ import annotations

import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowdim.table.options import split_names
from lowdim.text.escape import join_names, protect_cell, protect_terminal, shell_word, shown
from lowdim.text.fix import propose
from tests.table.flags import options_from_flags

# leading characters that OWASP's page on CSV injection lists
RISKY = ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠"]


@pytest.mark.parametrize("first", RISKY)
def test_a_formula_gets_an_apostrophe(first: str) -> None:
    assert protect_cell(f"{first}cmd|' /C calc'!A0") == f"'{first}cmd|' /C calc'!A0"
    assert protect_cell(f" {first}1+1").startswith("'")


@pytest.mark.parametrize("text", ["-1", "+2.5", "-.5e-3", "-inf", "+nan", "1.5", "wine", "a=b", "", "'quoted", "3-4"])
def test_numbers_and_words_stay(text: str) -> None:
    assert protect_cell(text) == text


@given(st.floats())
def test_every_float_that_python_prints_stays(x: float) -> None:
    assert protect_cell(repr(x)) == repr(x) and protect_cell(f"{x:+.3e}") == f"{x:+.3e}"


@given(st.text())
def test_no_control_character_reaches_the_terminal(text: str) -> None:
    safe = protect_terminal(text)
    assert not [c for c in safe if unicodedata.category(c) == "Cc" or c in "\u2028\u2029\u202e\u2066"]
    assert protect_terminal(safe) == safe


@pytest.mark.parametrize(
    "code",
    [
        "\x1b[31m",
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1bP1$r\x1b\\",
        "\x9b31m",
        "\x1bc",
        "\x1b(B",
        "\u202e",
        "\x00",
        "\x7f",
    ],
)
def test_escape_sequences_vanish(code: str) -> None:
    assert protect_terminal(f"te{code}mp") == "temp"


def test_lines_are_kept_on_request() -> None:
    assert protect_terminal("a\nb\tc") == "a b c"
    assert protect_terminal("a\nb\tc", lines=True) == "a\nb c"
    assert shown("x" * 100) == '"' + "x" * 40 + '..."'


NASTY = [
    "$(touch pwned)",
    "`touch pwned`",
    'a"; touch pwned; "',
    "it's",
    "a b",
    "!x",
    "a\\b",
    "-rf",
    "größe",
    "a,b",
    '"',
]


@pytest.mark.parametrize("text", NASTY)
def test_a_shell_passes_the_word_on_as_it_is(text: str, tmp_path: object) -> None:
    ran = subprocess.run(
        ["sh", "-c", f"printf %s {shell_word(text)}"], capture_output=True, cwd=str(tmp_path), check=True
    )
    if not text.startswith("-"):
        assert ran.stdout.decode() == text
    assert not list(__import__("pathlib").Path(str(tmp_path)).iterdir())


@given(
    st.lists(
        st.text(alphabet=st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1).filter(
            lambda s: s.strip() == s
        ),
        min_size=1,
        max_size=4,
    )
)
def test_names_survive_the_way_through_a_flag(names: list[str]) -> None:
    import shlex

    assert split_names(shlex.split(join_names(names))[0]) == tuple(names)
    assert options_from_flags(shlex.split(propose(drop=names).as_command())) == {"drop": tuple(names)}
