"""Labels of new rows beside those of a fit: which are the same, and which are only nearly so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral
from typing import Any

from lowdim.text.format import clip, listing
from lowdim.text.messages import Message, message

PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")  # not 01 or 1e3, which may well be names
LISTED_ROWS = 3  # of each label that a message names


def label_number(label: Any) -> Decimal | None:
    """The number that a label is, exactly; None where it is none, or one that is not plainly written.

    >>> label_number("1.0") == label_number(1) == label_number(True), label_number("01")
    (True, None)
    """
    if type(label).__module__ == "numpy":
        label = label.item()
    if isinstance(label, str):
        return Decimal(label) if PLAIN_NUMBER.fullmatch(label) else None
    if isinstance(label, float):
        return Decimal(repr(float(label)))
    return Decimal(int(label)) if isinstance(label, Integral) else None


def label_places(own: Iterable[Any], labels: Sequence[Any]) -> list[int | None]:
    """Where each of some labels is among those of a fit; where these are all numbers, equal numbers are one label.

    >>> label_places(["1.0", "0.0", "01", "yes"], ("0", "1")), label_places([1.0, 2.0], ("1", "II"))
    ([1, 0, None, None], [None, None])
    """
    place = {label: k for k, label in enumerate(labels)}
    numbers = {label_number(label): k for k, label in enumerate(labels)}
    if None in numbers or len(numbers) < len(labels):
        return [place.get(label) for label in own]
    return [place.get(label, numbers.get(label_number(label))) for label in own]


def are_numbers(labels: Iterable[Any]) -> bool:
    """Whether all of them are plain numbers."""
    return all(label_number(label) is not None for label in labels)


def as_spelt(own: Iterable[Any], labels: Sequence[Any]) -> tuple[Any, ...]:
    """The labels of a fit, those that a later table has as it writes them.

    >>> as_spelt(["1.0"], ("0", "1"))
    ('0', '1.0')
    """
    own, spelt = list(own), list(labels)
    for label, k in zip(own, label_places(own, labels), strict=True):
        if k is not None:
            spelt[k] = label
    return tuple(spelt)


# what is said of labels that a fit has not seen ---------------------------------------------------------------------
def named_rows(rows: Sequence[object]) -> str:
    """The first few rows by name.

    >>> named_rows([3]), named_rows(range(1, 9))
    ('row 3', 'rows 1, 2, 3 and 5 more')
    """
    return f"row{'s' * (len(rows) > 1)} {listing(map(clip, rows), LISTED_ROWS)}"


def unseen_labels(column: str, found: Mapping[Any, Sequence[object]], labels: Sequence[Any]) -> Message:
    """The note on labels that were not there in the fit; `found` has the rows of each, `labels` are those that were."""
    words = [f"'{clip(label)}' ({named_rows(rows)})" for label, rows in found.items()]
    near = {clip(label): nearly_same(label, labels) for label in found}
    pairs = [f"'{label}' as '{clip(known)}'" for label, known in near.items() if known is not None]
    case = "nearly the same" if pairs else ""
    return message("LD504", case=case, column=column, labels=listing(words), near=listing(pairs))


def nearly_same(label: Any, labels: Iterable[Any]) -> Any:
    """The one label that differs from this one by no more than case and surrounding spaces; None if there is none.

    >>> nearly_same(" YES", ("no", "yes")), nearly_same("maybe", ("no", "yes"))
    ('yes', None)
    """
    plain = str(label).strip().casefold()
    near = [known for known in labels if str(known).strip().casefold() == plain]
    return near[0] if len(near) == 1 else None
