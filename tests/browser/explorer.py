"""The explorer in a tab: wait until it has painted, touch it as a person does, read what it says."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from tests.browser.chrome import Chrome, Tab

SHIFT, CTRL = 8, 2  # the modifier of a key or a pointer


class Explorer:
    """One page of the explorer."""

    def __init__(self, chrome: Chrome, address: str, view: str = "", **how: Any) -> None:
        self.tab = Tab(chrome, **{"width": 1280, "height": 820, **how})
        self.address = address
        self.visit(view)

    def visit(self, view: str) -> None:
        """Open a view by its address, on a new page."""
        self.tab.visit("about:blank")
        self.tab.visit(f"{self.address}#{view}")
        self.wait(1)

    @property
    def painted(self) -> int:
        return int(self.tab.js("Number(document.querySelector('.lowdim-explore')?.dataset.painted ?? 0)"))

    def wait(self, least: int) -> None:
        end = time.monotonic() + 20
        while self.painted < least:
            assert time.monotonic() < end, (self.tab.js("document.body.innerText.slice(0, 500)"), self.complaints())
            time.sleep(0.02)

    def act(self, script: str) -> None:
        """Run a script that changes something, and wait until the page shows it."""
        before = self.painted
        self.tab.js(f"(() => {{ {script} }})()")
        self.wait(before + 1)

    def key(self, key: str, code: int = 0, text: str = "", modifiers: int = 0) -> None:
        self.tab.press(key, code or ord(key.upper()), text or (key if len(key) == 1 else ""), modifiers)

    def settled_key(self, *key: Any) -> None:
        """A key, and what the page makes of it."""
        before = self.painted
        self.key(*key)
        self.wait(before + 1)

    def tab_to(self, found: str) -> None:
        """The tab key, until an expression says that the focus is there."""
        for _ in range(120):
            self.key("Tab", 9)
            if self.tab.js(found):
                return
        raise AssertionError(found)

    def wait_for_words(self, pattern: str) -> None:
        """Until the live region says something: what the browser itself is asked for comes when it comes."""
        end = time.monotonic() + 20
        while not re.search(pattern, self.live):
            assert time.monotonic() < end, self.live
            time.sleep(0.02)

    @property
    def numbers(self) -> Any:
        """What the live region says, with all its digits."""
        return json.loads(self.tab.js("document.querySelector('.live').dataset.numbers"))

    @property
    def live(self) -> str:
        return str(self.tab.js("document.querySelector('.live').textContent"))

    def text(self, selector: str) -> str:
        return str(self.tab.js(f"document.querySelector({json.dumps(selector)}).textContent"))

    def complaints(self) -> list[str]:
        """What the page complained about; a software renderer's own remarks are not its fault."""
        return [line for line in self.tab.complaints() if '"source": "rendering"' not in line]
