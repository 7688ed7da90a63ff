"""Options of a model, each declared once: its default, its rule and its description.

A class says `tol: float = option(default=1e-6, rule=POSITIVE, words="...")`; its constructor, the checks of a fit and
the Parameters section of its documentation follow from that. An option of a base class is inherited, and may be
declared again with another default; the attributes that a base class explains are inherited with it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim.models.base.other_packages import instead_of
from lowdim.text.messages import error

# What MixedFactorAnalysis is called with `likelihoods` for the linear model of which it is the general case.
LINEAR_CASES: dict[str, dict[str, Any]] = {
    "ProbabilisticPCA": {"n_components": 2, "noise": "one"},
    "FactorAnalysis": {"n_components": 1},
    "BayesianPCA": {"n_components": 8, "noise": "one", "ard": True},
}


# what options may be ---------------------------------------------------------------------------------------
class Rule(NamedTuple):
    """What an option may be: a test, the words for it, and its kind in the documentation (empty: the annotation)."""

    holds: Callable[[Any], bool]
    words: str
    kind: str = ""


def one_of(*choices: str | None) -> Rule:
    """One of these words.

    >>> one_of(None, "varimax").words, one_of("a", "b").holds("c")
    ("None or 'varimax'", False)
    """
    shown = [repr(choice) for choice in choices]
    words = " or ".join(shown) if len(shown) < 3 else f"one of {', '.join(shown)}"
    kind = ", ".join("None" if choice is None else f'"{choice}"' for choice in choices)
    return Rule(lambda v: (v is None or isinstance(v, str)) and v in choices, words, f"{{{kind}}}")


def none_or(rule: Rule, meaning: str = "") -> Rule:
    """None, with a word on what that means, or what the rule allows."""
    return Rule(lambda v: v is None or rule.holds(v), f"None{meaning and f' ({meaning})'} or {rule.words}")


WHOLE = Rule(
    lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(v >= 0), "a whole number >= 0"
)
COUNT = Rule(
    lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and bool(v >= 1), "a whole number >= 1"
)
NOT_NEGATIVE = Rule(lambda v: isinstance(v, int | float | np.number) and bool(0 <= v < np.inf), "a number >= 0")
POSITIVE = Rule(lambda v: isinstance(v, int | float | np.number) and bool(v > 0), "a number > 0")
TRUTH = Rule(lambda v: isinstance(v, bool | np.bool_), "True or False")
SEED = Rule(
    lambda v: v is None or isinstance(v, np.random.Generator | np.random.RandomState) or WHOLE.holds(v),
    "None, a whole number >= 0, a numpy Generator or RandomState",
    "int, Generator, RandomState or None",
)
SEVERAL = Rule(lambda v: isinstance(v, int | np.integer) and bool(v >= 2), "a whole number >= 2")
ORTHOGONAL = ("varimax", "quartimax")  # rotations that keep the prior of a position as it is

# descriptions that several models share
EM_ENDS = "EM ends when the objective can gain no more than this, in nats a row."
EM_ENDS_WITH_GAPS = f"With gaps, {EM_ENDS}"
CALIBRATE = (
    "Of a table with gaps: fit first without 5 to 10 % of the seen cells (and, where these are few, without others), "
    "and scale intervals so that 90 % ones hold 90 % of these; the last fit has all cells. False: one fit."
)


def check_components(q: int | None, most: int, why: str = "") -> None:
    """Refuse more dimensions than a table can have, by default than it has columns; None asks for all there are."""
    if q is not None and q > most:
        raise error("LD200", n_components=q, most=most, why=why or f"the table has {most} columns")


# declaring them --------------------------------------------------------------------------------------------
class Option(NamedTuple):
    """An option as a class declares it."""

    default: Any
    rule: Rule
    words: str  # its description, one or more sentences
    kind: str  # what it may be, in the documentation
    kw_only: bool


def option(*, default: Any, rule: Rule, words: str, kind: str = "", kw_only: bool = True) -> Any:
    """Declare an option: `tol: float = option(default=1e-6, rule=POSITIVE, words="...")`.

    Parameters
    ----------
    default : object
        Its value where none is given.
    rule : Rule
        What it may be; `fit` refuses any other value.
    words : str
        Its description.
    kind : str, optional
        What the documentation says it may be; by default what the rule says, or its annotation.
    kw_only : bool, default True
        Whether it must be named; False for the first option of a class.
    """
    return Option(default, rule, words, kind, kw_only)


def declare_options(cls: type) -> None:
    """Give a class the constructor and the documentation that its options, and those of its bases, ask for."""
    annotations = inspect.get_annotations(cls)
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Option)}
    for name, found in own.items():
        if not found.kind:
            own[name] = found._replace(kind=found.rule.kind or str(annotations[name]).replace(" | ", " or "))
        delattr(cls, name)  # an instance holds its value, the class only what may be
    inherited = {
        name: found for base in cls.__mro__[:0:-1] for name, found in vars(base).get("_own_options", {}).items()
    }
    options = {**own, **{name: found for name, found in inherited.items() if name not in own}}
    cls._own_options = own  # type: ignore[attr-defined]  # of a class that mypy does not know here
    cls._options = options  # type: ignore[attr-defined]  # as above
    if own:
        cls.__init__ = _constructor(options, cls.__qualname__)  # type: ignore[misc]  # made here, nowhere written
    if options and cls.__doc__ and not cls.__name__.startswith("_"):
        cls.__doc__ = _documented(cls, options)


def _constructor(options: Mapping[str, Option], owner: str) -> Callable[..., None]:
    """An `__init__` that keeps each option as it was given; its signature lists them as ordinary keywords."""
    positional = [name for name, found in options.items() if not found.kw_only]
    named = [name for name in options if name not in positional]
    by_name, by_place = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", by_place)]
    for name in (*positional, *named):
        kind = by_name if options[name].kw_only else by_place
        parameters.append(inspect.Parameter(name, kind, default=options[name].default, annotation=options[name].kind))
    signature = inspect.Signature(parameters)

    def construct(self: Any, *args: Any, **given: Any) -> None:
        values = signature.bind(self, *args, **given).arguments
        for name, found in options.items():
            setattr(self, name, values.get(name, found.default))

    construct.__name__ = "__init__"
    construct.__qualname__ = f"{owner}.__init__"
    construct.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` asks a function for
    return construct


SECTION = re.compile(r"^(\w+)\n-+$", re.MULTILINE)


def _documented(cls: type, options: Mapping[str, Option]) -> str:
    """The docstring of a class with its Parameters, and with its bases' attributes after its own, before the rest."""
    intro, sections = _sections(cls)
    lines = []
    for name, found in sorted(options.items(), key=lambda item: item[1].kw_only):
        lines.append(f"{name} : {found.kind}, default {found.default!r}")
        lines += [f"    {line}" for line in textwrap.wrap(found.words, 112, break_on_hyphens=False)]
    attributes: dict[str, str] = {}  # each name with the entry that explains it, which may explain others too
    for owner in cls.__mro__:
        found_here = _sections(owner)[1].get("Attributes", "") if "_options" in vars(owner) else ""
        for entry in re.split(r"\n(?=\w)", found_here):
            names = entry.partition("\n")[0].partition(" :")[0].split(", ")
            if entry and attributes.keys().isdisjoint(names):  # a class that explains one itself explains it best
                attributes |= dict.fromkeys(names, entry)
    first = {"Parameters": "\n".join(lines), "Attributes": "\n".join(dict.fromkeys(attributes.values()))}
    ordered = first | {title: text for title, text in sections.items() if title not in first}
    return "\n\n".join(
        [intro, *(f"{title}\n{'-' * len(title)}\n{text}" for title, text in ordered.items() if text), ""]
    )


def _sections(cls: type) -> tuple[str, dict[str, str]]:
    """The docstring of a class itself: what stands before its sections, and these by their titles."""
    intro, *parts = SECTION.split(inspect.cleandoc(vars(cls).get("__doc__") or ""))
    return intro.strip(), {title: text.strip("\n") for title, text in zip(parts[::2], parts[1::2], strict=True)}


# other words, and seeds ------------------------------------------------------------------------------------
def with_other_word(model: str, word: str, own: Sequence[str], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A linear model whose columns have likelihoods is a `MixedFactorAnalysis`; all other unknown words are refused.

    Parameters
    ----------
    model, word : str
        The class that was called, and the option that it does not have.
    own : sequence of str
        The options that it has.
    args, options
        What it was called with.
    """
    if word != "likelihoods" or model not in LINEAR_CASES:
        raise error("LD219", model=model, option=word, instead=instead_of(word, model, own))
    from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis  # a cycle: that class is an estimator too

    return MixedFactorAnalysis(**{**LINEAR_CASES[model], **dict(zip(("n_components",), args, strict=False)), **options})


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn's users pass: a number, a Generator, a RandomState, or None for 0.

    >>> seed_of(7), seed_of(None)
    (7, 0)
    """
    if random_state is None:
        return 0  # the same table gives the same numbers unless someone asks otherwise
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if not SEED.holds(random_state):
        raise error("LD210", option="random_state", value=random_state, allowed=SEED.words)
    return int(random_state)
