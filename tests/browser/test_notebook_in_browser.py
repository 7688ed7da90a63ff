"""A notebook executed by a kernel, its widget in a real browser: the module as anywidget loads it."""

from __future__ import annotations

import base64
import json
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser.chrome import Chrome, Tab, browser
from tests.browser.explorer import SHIFT, Explorer
from tests.explorer import subjects

pytestmark = [pytest.mark.skipif(browser() is None, reason="no browser"), pytest.mark.slow]
OPEN = "import lowdim as ld\nwidget = ld.explore({run!r})\nwidget"
# what Jupyter gives to a widget's module: its traits and its messages, here through two functions
MODEL = """(async ({esm, css, state}) => {
  const heard = {}, traits = state, changed = new Set();
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const model = {
    get: name => traits[name],
    set: (name, value) => { traits[name] = value; changed.add(name); },
    save_changes: () => { toKernel(JSON.stringify({method: 'update',
        state: Object.fromEntries([...changed].map(name => [name, traits[name]]))})); changed.clear(); },
    on: (name, f) => { (heard[name] ??= []).push(f); },
    off: (name, f) => { heard[name] = (heard[name] ?? []).filter(g => g !== f); },
    send: content => toKernel(JSON.stringify({method: 'custom', content})),
  };
  window.fromKernel = ({data, buffers}) => {
    if (data.method === 'custom')
      for (const f of heard['msg:custom'] ?? []) f(data.content, buffers.map(b => new DataView(bytes(b).buffer)));
    else if (data.method === 'update') {
      Object.assign(traits, data.state);
      for (const name of Object.keys(data.state)) for (const f of heard[`change:${name}`] ?? []) f();
    }
  };
  document.head.append(Object.assign(document.createElement('style'), {textContent: css}));
  const module = await import(URL.createObjectURL(new Blob([esm], {type: 'text/javascript'})));
  window.clean = await module.default.render({model, el: document.body});
})"""


class Notebook(NotebookClient):
    """A notebook whose kernel stays, and every message of its widgets."""

    def __init__(self) -> None:
        super().__init__(
            new_notebook(), timeout=60, kernel_name="python3", resources={"metadata": {"path": str(subjects.folder())}}
        )
        self.comms: list[dict[str, Any]] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"].startswith("comm_"):
            self.comms.append(msg)
        return super().process_message(msg, cell, cell_index)

    def run(self, code: str) -> str:
        """Execute a new cell at the end; what it printed."""
        self.nb.cells.append(new_code_cell(code))
        cell = self.execute_cell(self.nb.cells[-1], len(self.nb.cells) - 1)
        return "".join(o.get("text", "") for o in cell.outputs if o.output_type == "stream")

    def said(self) -> list[dict[str, Any]]:
        """What widgets sent since they were last asked, also while no cell ran."""
        while True:
            try:
                msg = run_sync(self.kc.get_iopub_msg)(timeout=0.05)
            except queue.Empty:
                break
            if msg["msg_type"].startswith("comm_"):
                self.comms.append(msg)
        told, self.comms = self.comms, []
        return told

    def tell(self, comm: str, data: Any) -> None:
        self.kc.shell_channel.send(self.kc.session.msg("comm_msg", {"comm_id": comm, "data": data}))


class WidgetPage(Explorer):
    """The widget's page; what it and the kernel say to each other is handed on while something is awaited."""

    def __init__(self, chrome: Chrome, notebook: Notebook, file: Path) -> None:
        opened = [m["content"] for m in notebook.said() if m["msg_type"] == "comm_open"]
        (state,) = [m for m in opened if "_esm" in m["data"]["state"]]
        self.notebook, self.comm, facts = notebook, state["comm_id"], state["data"]["state"]
        file.write_text("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>notebook</title>", encoding="utf-8")
        self.tab = Tab(chrome, width=1280, height=820).open(file)
        self.tab.send("Runtime.addBinding", name="toKernel")
        traits = {name: facts[name] for name in ("selection", "row", "place")}
        given = json.dumps({"esm": facts["_esm"], "css": facts["_css"], "state": traits})
        self.tab.send("Runtime.evaluate", expression=f"{MODEL}({given})")
        self.until(lambda: self.painted > 0)

    def hand_on(self) -> None:
        self.tab.js("0")
        for event in self.tab.mine("Runtime.bindingCalled"):
            self.tab.chrome.events.remove(event)
            self.notebook.tell(self.comm, json.loads(event["params"]["payload"]))
        for msg in self.notebook.said():
            if msg["content"].get("comm_id") == self.comm and msg["msg_type"] == "comm_msg":
                buffers = [base64.b64encode(bytes(b)).decode() for b in msg.get("buffers", [])]
                self.tab.js(f"fromKernel({json.dumps({'data': msg['content']['data'], 'buffers': buffers})})")

    def until(self, there: Callable[[], bool]) -> None:
        end = time.monotonic() + 30
        while not there():
            assert time.monotonic() < end, (self.tab.js("document.body.innerText.slice(0, 500)"), self.complaints())
            self.hand_on()

    def wait(self, least: int) -> None:
        self.until(lambda: self.painted >= least)

    def in_kernel(self, expression: str) -> Any:
        """The value of an expression there, once everything has been handed on."""
        for _ in range(3):
            self.hand_on()
        return json.loads(self.notebook.run(f"import json\nprint(json.dumps({expression}))"))


@pytest.fixture
def notebook():
    made = Notebook()
    with made.setup_kernel():
        yield made


def test_a_notebook_and_its_widget_lead_each_other(chrome, notebook, tmp_path):
    notebook.run(OPEN.format(run=str(subjects.odd_run())))
    shown = notebook.nb.cells[0].outputs[0]["data"]
    assert "application/vnd.jupyter.widget-view+json" in shown
    page, s = WidgetPage(chrome, notebook, tmp_path / "notebook.html"), subjects.odd()
    assert page.in_kernel("widget.row") == 19 and "Row 20 is unlike what the model expects" in page.live
    # the kernel leads
    notebook.run("widget.row = 6")
    page.until(lambda: "Row 7 " in page.live)
    assert page.numbers["D2"] == pytest.approx(s.explain(6).D2, rel=1e-9)
    notebook.run("widget.selection = [5, 3, 4]")
    page.act("document.querySelector('[role=tab]:nth-child(2)').click()")
    page.until(lambda: "these 3 rows" in page.live)
    assert page.numbers["rows"] == [3, 4, 5] and s.set_apart([3, 4, 5]).sentence in page.live
    page.act("document.querySelector('[role=tab]:nth-child(3)').click()")
    notebook.run("widget.place = [0.5, -1.0, 0.25]")
    page.until(lambda: page.numbers.get("z") == [0.5, -1.0, 0.25])
    assert page.numbers["mean"] == pytest.approx([c.value for c in s.at([0.5, -1.0, 0.25]).cells], rel=1e-9)
    # the page leads
    page.act("[...document.querySelectorAll('button')].find(b => b.textContent === 'Go to the middle').click()")
    assert page.in_kernel("widget.place") == [0, 0, 0]
    page.act("document.querySelector('[role=tab]:nth-child(2)').click()")
    box = "document.querySelector('.scatter').getBoundingClientRect()"
    left, top, width, height = page.tab.js(f"['x', 'y', 'width', 'height'].map(key => {box}[key])")
    before = page.painted
    corners = [(0.12, 0.06), (0.5, 0.06), (0.5, 0.9), (0.12, 0.9), (0.12, 0.08)]
    page.tab.drag([(left + a * width, top + b * height) for a, b in corners], SHIFT)
    page.wait(before + 1)
    rows = page.in_kernel("widget.selection")
    assert rows == page.numbers["rows"] and 3 < len(rows) < 178
    page.act("document.querySelector('[role=tab]:nth-child(1)').click()")
    page.act("[...document.querySelectorAll('button')].find(b => b.textContent === 'Next row').click()")
    assert page.in_kernel("widget.row") == 7
    # and nothing went wrong on either side
    page.tab.js("clean()")
    nbformat.validate(notebook.nb)
    assert not [o for cell in notebook.nb.cells for o in cell.outputs if o.output_type == "error"]
    assert page.complaints() == [] and page.tab.requests()[0].startswith("file:")
