"""What every fit says about itself."""

from __future__ import annotations

import html
from typing import NamedTuple


class Certificate(NamedTuple):
    """How a fit was done and how far its numbers can be trusted.

    `residual` and `orthogonality` are LAPACK-style ratios for eigenproblems (good: below 35); for EM the
    residual is what the objective could still gain, in nats. `condition` is the ratio of the largest to
    the smallest singular value kept, `digits` what that leaves of double precision.
    """

    solver: str
    passes: int
    objective: float | None
    objective_name: str
    converged: bool
    reason: str
    residual: float
    orthogonality: float
    condition: float
    digits: float
    boundary: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str]]:
        """The certificate as (name, text) pairs."""
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        rows = [
            ("solver", f"{self.solver}, {passes} over the table"),
            ("converged", ("yes" if self.converged else "NO") + f" ({self.reason})" * (self.reason != "converged")),
        ]
        if self.objective is not None:
            rows.append((self.objective_name, f"{self.objective:.6f}"))
        rows.append(
            (
                "accuracy",
                f"residual {self.residual:.2g}, orthogonality {self.orthogonality:.2g}, "
                f"condition {self.condition:.2g}, about {self.digits:.0f} digits",
            )
        )
        if self.boundary:
            rows.append(("on a bound", ", ".join(self.boundary)))
        return rows + [("note", note) for note in self.notes]

    def text(self) -> str:
        """The certificate in plain lines."""
        return "\n".join(f"  {name:<14} {value}" for name, value in self.rows())

    def html(self) -> str:
        """The certificate as a small table."""
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table>{cells}</table>"
