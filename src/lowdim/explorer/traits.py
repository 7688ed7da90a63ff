"""The widget itself: imported only where anywidget is installed."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from lowdim.explorer.endpoints import Endpoints
from lowdim.explorer.module import joined, web_file


class ExploreWidget(anywidget.AnyWidget):
    """The explorer as a widget: traits in both directions, and questions answered by name."""

    _esm, _css = joined(), web_file("style.css")
    selection = traitlets.List(traitlets.Int(), help="Positions of the rows drawn round.").tag(sync=True)
    row = traitlets.Int(0, help="The position of the row looked at.").tag(sync=True)
    place = traitlets.List(traitlets.Float(), help="Where the cross is, one number an axis.").tag(sync=True)

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        odd = endpoints.facts["odd"]
        super().__init__(row=odd[0]["row"] if odd else 0)
        self.on_msg(self._answered)

    def _answered(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the bytes that the page asked for."""
        found = self._endpoints.reply(str(content.get("get", "")), str(content.get("asked", "")))
        self.send({"id": content.get("id"), "found": found is not None}, [b"" if found is None else found.body])

    @traitlets.validate("selection")
    def _rows(self, proposal: Any) -> list[int]:
        return sorted({self._known(i) for i in proposal["value"]})

    @traitlets.validate("row")
    def _row(self, proposal: Any) -> int:
        return self._known(proposal["value"])

    @traitlets.validate("place")
    def _place(self, proposal: Any) -> list[float]:
        place: list[float] = proposal["value"]
        if len(place) not in (0, self._endpoints.q):
            raise traitlets.TraitError(f"a place has one number for each of {self._endpoints.q} axes, or none")
        return place

    def _known(self, i: int) -> int:
        if not 0 <= i < self._endpoints.n:
            raise traitlets.TraitError(f"rows are counted from 0 to {self._endpoints.n - 1}, not {i}")
        return i
