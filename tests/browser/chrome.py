"""A real browser, driven over its own debugging pipe with the standard library alone."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
PATIENCE = 20.0  # seconds for one answer: the machine may be busy


def browser() -> str | None:
    """The path of an installed Chromium, or None."""
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Chrome:
    """One running browser: JSON messages, each ended by a zero byte, on file descriptors 3 and 4."""

    def __init__(self, profile: str) -> None:
        path = browser()
        assert path is not None
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # the shell gives the two pipes the numbers the browser looks for
        line = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", line, path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.reader, self.writer = ours_in, ours_out
        self.buffer, self.number = b"", 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **how: Any) -> dict[str, Any]:
        """Ask, and wait for the answer; what happens meanwhile is kept in `events`."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": how} | ({"sessionId": session} if session else {})
        os.write(self.writer, json.dumps(asked).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            heard = self.hear()
            if heard.get("id") == self.number:
                assert "error" not in heard, f"{method}: {heard['error']}"
                return heard["result"]
            self.events.append(heard)
        raise TimeoutError(method)

    def hear(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            if not select.select([self.reader], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser says nothing")
            got = os.read(self.reader, 1 << 20)
            assert got, "the browser has gone"
            self.buffer += got
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def wait_for(self, method: str, session: str) -> dict[str, Any]:
        """The next event of this name."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for k, event in enumerate(self.events):
                if event.get("method") == method and event.get("sessionId") == session:
                    return self.events.pop(k)
            self.events.append(self.hear())
        raise TimeoutError(method)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)  # our own group: we started it
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.reader)
        os.close(self.writer)


class Tab:
    """One page: what it asked for, what it complained about, and what a script finds in it."""

    def __init__(
        self, chrome: Chrome, *, width: int = 1100, height: int = 900, script: bool = True, dark: bool = False
    ) -> None:
        self.chrome = chrome
        self.context = chrome.send("Target.createBrowserContext")["browserContextId"]
        target = chrome.send("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = chrome.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )
        # switches off the page's own scripts; ours, through the pipe, still run
        self.send("Emulation.setScriptExecutionDisabled", value=not script)

    def send(self, method: str, **how: Any) -> dict[str, Any]:
        return self.chrome.send(method, self.session, **how)

    def open(self, path: Path) -> Tab:
        return self.visit(path.as_uri())

    def visit(self, url: str) -> Tab:
        self.send("Page.navigate", url=url)
        self.chrome.wait_for("Page.loadEventFired", self.session)
        return self

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found.get("exceptionDetails")
        return found["result"].get("value")

    def requests(self) -> list[str]:
        """Every address the page asked for."""
        self.js("0")  # so that what was on its way is here
        return [e["params"]["request"]["url"] for e in self.mine("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Console messages, log entries and exceptions."""
        self.js("0")
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(e["params"])[:500] for kind in kinds for e in self.mine(kind)]

    def mine(self, method: str) -> list[dict[str, Any]]:
        return [e for e in self.chrome.events if e.get("method") == method and e.get("sessionId") == self.session]

    def press(self, key: str, code: int, text: str = "", modifiers: int = 0, command: str = "") -> None:
        """A key; `command` is what the operating system makes of it in a field, as selectAll of Ctrl+A."""
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            more |= {"commands": [command]} if command and kind != "keyUp" else {}
            how = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            self.send("Input.dispatchKeyEvent", type=kind, **how, **more)

    def type(self, text: str) -> None:
        """Letters, one key after the other."""
        for letter in text:
            self.press(letter, ord(letter.upper()), letter)

    def drag(self, places: list[tuple[float, float]], modifiers: int = 0) -> None:
        """The pointer pressed at the first place, moved over the others and let go at the last."""
        for k, (x, y) in enumerate(places):
            kind = "mousePressed" if k == 0 else "mouseMoved"
            how = {"x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1, "modifiers": modifiers}
            self.send("Input.dispatchMouseEvent", type=kind, **how)
        x, y = places[-1]
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", modifiers=modifiers)

    def screenshot(self, path: Path) -> Path:
        """The whole page as a picture."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path


@contextlib.contextmanager
def running() -> Iterator[Chrome]:
    """A browser with a new profile, gone afterwards."""
    profile = tempfile.mkdtemp(prefix="lowdim-chrome-")
    chrome = Chrome(profile)
    try:
        yield chrome
    finally:
        chrome.close()
        shutil.rmtree(profile, ignore_errors=True)
