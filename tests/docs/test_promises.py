"""The page of promises names tests, pages and programs that exist, and each promise has one."""

import re
from pathlib import Path

HERE = Path(__file__).parents[2]
PAGE = (HERE / "docs" / "promises.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| ---"))]


def test_every_promise_names_what_holds_it():
    assert len(ROWS) >= 30
    for row in ROWS:
        assert re.search(r"`(tests/|benchmarks/|make |\.ci/run)", row.split("|")[2]), row


def test_everything_named_exists():
    for path, name in re.findall(r"`((?:tests|benchmarks|\.ci)/[\w./]+?)(?:::(\w+))?`", PAGE):
        text = (HERE / path).read_text()
        assert not name or f"def {name}(" in text, f"{path} has no {name}"
