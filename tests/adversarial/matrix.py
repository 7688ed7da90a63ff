"""Every table of `inputs.py` given to everybody of `subjects.py`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.adversarial.inputs import INPUTS, NONSENSE
from tests.adversarial.outcomes import Outcome, outcome
from tests.adversarial.subjects import EVERY, SENSIBLE, Subject, every_subject

SHARE = 20  # one pair in so many is tried by `make test`
LEFT = ("analyse", "choose_clusters", "lowdim")  # beginnings of names that are left to the drill
DEAR = ("Nonlinear", "GPLVM", "BayesianGPLVM", "MixedFactor")  # of those that meet a third as many


class Pair(NamedTuple):
    """A subject and an input, by name."""

    subject: str
    input: str


def pairs() -> Iterator[Pair]:
    """All pairs; what takes a second is given some of the tables only."""
    for subject in every_subject():
        for k, name in enumerate(INPUTS):
            if k % EVERY.get(subject, 1) == 0:
                yield Pair(subject, name)


def some_pairs() -> list[Pair]:
    """One in twenty of the quick ones, spread so that neighbours among the inputs meet different subjects."""
    rows = {name: k for k, name in enumerate(every_subject())}
    columns = {name: k for k, name in enumerate(INPUTS)}

    def chosen(pair: Pair) -> bool:
        share = SHARE * 3 if pair.subject.startswith(DEAR) else SHARE
        return not pair.subject.startswith(LEFT) and (rows[pair.subject] * 3 + columns[pair.input]) % share == 0

    return list(filter(chosen, pairs()))


def tried(chosen: Iterable[Pair], subjects: dict[str, Subject] | None = None) -> Iterator[tuple[Pair, Outcome]]:
    """How each pair ends."""
    known = every_subject() if subjects is None else subjects
    for pair in chosen:
        nonsense = pair.input in NONSENSE and pair.input not in SENSIBLE.get(pair.subject.partition("(")[0], ())
        nonsense = nonsense and not pair.subject.startswith("lowdim ")  # in a file they may be a table
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what NumPy says of matrices
            table = INPUTS[pair.input]()
        yield pair, outcome(known[pair.subject](table), nonsense)
