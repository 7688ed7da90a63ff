"""The named plots: where each one's function lives, so that nothing is imported before it is asked for."""
from __future__ import annotations

GALLERY: dict[str, str] = {
    "columns": "lowdim.plot.table:columns",
    "gaps": "lowdim.plot.table:gaps",
    "gap_pairs": "lowdim.plot.gap_pairs:gap_pairs",
    "map": "lowdim.plot.map:map_rows",
    "biplot": "lowdim.plot.map:biplot",
    "loadings": "lowdim.plot.axes:loadings",
    "hinton": "lowdim.plot.axes:hinton",
    "axis_cards": "lowdim.plot.axes:axis_cards",
    "reconstruct": "lowdim.plot.decode:reconstruct",
    "traverse": "lowdim.plot.decode:traverse",
    "component_images": "lowdim.plot.decode:component_images",
    "trace": "lowdim.plot.trace:trace",
    "em_movie": "lowdim.plot.trace:em_movie",
    "scree": "lowdim.plot.dimensions:scree",
    "jury": "lowdim.plot.dimensions:jury",
    "heldout": "lowdim.plot.dimensions:heldout",
    "distances": "lowdim.plot.dimensions:distances",
    "fills": "lowdim.plot.fills:fills",
    "calibration": "lowdim.plot.fills:calibration",
    "control": "lowdim.plot.odd:control",
    "t2_q": "lowdim.plot.odd:t2_q",
    "why_row": "lowdim.plot.why:why_row",
    "why_all": "lowdim.plot.why:why_all",
    "stability": "lowdim.plot.stability:stability",
}
