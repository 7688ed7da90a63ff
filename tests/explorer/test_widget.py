"""The explorer as a widget: traits that know the table, and questions answered by the kernel."""

from __future__ import annotations

import json

import numpy as np
import pytest
import traitlets

import lowdim
from lowdim.explorer.module import joined
from lowdim.text.messages import LowdimError
from tests.explorer import subjects


@pytest.fixture
def widget(monkeypatch):
    made = lowdim.explore(subjects.odd())
    made.sent = []
    monkeypatch.setattr(type(made), "send", lambda self, content, buffers=None: self.sent.append((content, buffers)))
    return made


def test_it_opens_at_the_oddest_row_with_the_module_itself(widget):
    assert widget.row == 19 and widget.selection == [] and widget.place == []
    assert widget._esm == joined() and ".lowdim-explore" in widget._css
    assert not [line for line in joined().splitlines() if line.startswith("import ")]


def test_it_answers_by_name(widget):
    widget._answered(widget, {"id": 3, "get": "axis/0"}, [])
    (content, buffers), places = widget.sent[0], subjects.odd().places.z
    assert content == {"id": 3, "found": True}
    np.testing.assert_array_equal(np.frombuffer(buffers[0]), places[:, 0])
    widget._answered(widget, {"id": 4, "get": "../../etc/passwd"}, [])
    assert widget.sent[1] == ({"id": 4, "found": False}, [b""])
    widget._answered(widget, {"id": 5, "get": "facts.json"}, [])
    assert json.loads(widget.sent[2][1][0])["n"] == 178


def test_traits_refuse_what_the_table_has_not(widget):
    widget.selection = [5, 3, 5]
    widget.place = [0.0, 1.0, 2.0]
    assert widget.selection == [3, 5] and widget.place == [0.0, 1.0, 2.0]
    for name, wrong in (("row", 178), ("row", -1), ("selection", [200]), ("place", [1.0])):
        with pytest.raises(traitlets.TraitError):
            setattr(widget, name, wrong)


def test_it_takes_what_python_gives(tmp_path):
    fitted = lowdim.fit_method(subjects.wine(), "fa", dims=2)
    assert lowdim.explore(fitted)._endpoints.q == 2
    assert lowdim.explore(subjects.odd_run())._endpoints.facts["run"].endswith("odd.run")
    assert lowdim.explore(subjects.odd().analysis)._endpoints.facts["jury"]["q"] == 3
    with pytest.raises(LowdimError, match="LD326"):
        lowdim.explore(lowdim.fit_method(subjects.wine(), "kmeans", clusters=2))


def test_without_anywidget_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lowdim.explorer.traits", None)
    with pytest.raises(LowdimError, match=r"LD327[\s\S]*lowdim\[widget\]"):
        lowdim.explore(subjects.odd())
