"""An option that a model does not have: the model that it belongs to, or the word to use in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lowdim.text.messages import error
from lowdim.text.words_elsewhere import instead_of

# What MixedFactorAnalysis is called with `likelihoods` for the linear model of which it is the general case.
LINEAR_CASES: dict[str, dict[str, Any]] = {
    "ProbabilisticPCA": {"n_components": 2, "noise": "one"},
    "FactorAnalysis": {"n_components": 1},
    "BayesianPCA": {"n_components": 8, "noise": "one", "ard": True},
}


def with_other_word(model: str, word: str, own: Sequence[str], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A linear model whose columns have likelihoods is a `MixedFactorAnalysis`; all other words are refused.

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
    from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis

    return MixedFactorAnalysis(**{**LINEAR_CASES[model], **dict(zip(("n_components",), args, strict=False)), **options})
