"""Axes of answers in words: "'y' on V5 and V4 against V8", of columns that hold one of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lowdim.judge.axes import AxisCard, Loading, sentence
from lowdim.table.column import one_name
from lowdim.table.table import Table


def in_answers(card: AxisCard, table: Table) -> AxisCard:
    """An axis whose sentence names the answers of columns that hold one of two, and the columns as the file does.

    >>> from lowdim.table.read import read
    >>> import pandas as pd
    >>> frame = pd.DataFrame({f"V{k}": list("ynyynnyn"[k:] + "ynyynnyn"[:k]) for k in range(6)})
    >>> table = read(frame)
    >>> top = tuple(Loading(f"V{k}=y", v, v, v) for k, v in ((5, 0.9), (4, 0.8), (0, -0.7)))
    >>> in_answers(AxisCard(1, 0.5, top, top, (), (), (), (), 0.9, 10, ""), table).sentence
    "Axis 1 is 'y' on V5 and V4 against V0 (50% of variation)."
    """
    answers: dict[str, tuple[str, str]] = {}
    for c in table.numbers:
        if len(c.labels) == 2:  # a mixed map names the answer of a loading, a Gaussian one the column alone
            answers |= dict.fromkeys((c.name, one_name(c.name, c.labels[1])), (c.name, c.labels[1]))
    if not any(loading.column in answers for loading in card.top):
        return card
    lead = card.top[0].value > 0
    same, other = ([c for c in card.top if (c.value > 0) == side] for side in (lead, not lead))
    told = (*_told(same, answers, first=True), *_told(other, answers, first=not _alike([*same, *other], answers)))
    return card._replace(sentence=sentence(card.axis, told, card.share, card.interchangeable))


def _alike(loadings: Sequence[Loading], answers: Mapping[str, tuple[str, str]]) -> bool:
    """Whether all of them have the same answer, which then needs no second word."""
    return len({answers.get(c.column, ("", ""))[1] for c in loadings}) == 1


def _told(loadings: Sequence[Loading], answers: Mapping[str, tuple[str, str]], first: bool) -> list[Loading]:
    """One side of an axis: the columns of each answer together, then the columns of numbers."""
    by_answer: dict[str, list[Loading]] = {}
    for c in loadings:
        if c.column in answers:
            by_answer.setdefault(answers[c.column][1], []).append(c)
    told = []
    for answer, own in by_answer.items():
        *many, last = (answers[c.column][0] for c in own)
        names = f"{', '.join(many)} and {last}" if many else last
        word = answer if len(answer) > 1 else f"'{answer}'"
        words = f"{word} on {names}" if first else names
        told.append(own[0]._replace(column=words, low=min(c.low for c in own), high=max(c.high for c in own)))
    return [*told, *(c for c in loadings if c.column not in answers)]
