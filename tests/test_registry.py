"""The registry: what is derived from it is current, and what it repeats of the classes is true."""

from __future__ import annotations

import importlib.util
import inspect

import pytest

import lowdim
from lowdim.registry import ENTRIES, FITTED, METHODS, questions
from tests.conftest import ROOT
from tests.laws.test_laws import MODELS as LAW_CASES

ABSENT = {"decoder": "reconstruct", "density": "score_samples", "fills": "impute", "uncertainty": "posterior"}


def derived():
    spec = importlib.util.spec_from_file_location("derive", ROOT / "tools" / "derive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_derived_is_current():
    made = derived()
    assert made.STUB.read_text(encoding="utf-8") == made.stub(), "run `make derive`"
    assert made.README.read_text(encoding="utf-8") == made.readme(), "run `make derive`"


def test_every_public_name_loads():
    for name in lowdim.__all__:
        assert getattr(lowdim, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lowdim.nothing


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name], ids=lambda e: e.name)
def test_what_an_entry_lacks_is_absent_from_its_class(entry):
    model = entry.make(2)
    for ability, verb in ABSENT.items():
        if ability == "uncertainty" and "map" in entry.lacks_abilities:
            continue  # clusters are no places
        assert hasattr(model, verb) == (ability not in entry.lacks_abilities), (entry.name, verb)
    assert not entry.public or model.__sklearn_tags__().input_tags.allow_nan == ("gaps" not in entry.lacks_abilities)


def test_every_model_has_a_command():
    """Short name or another command; `Mixture` is the general case of three that have one."""
    assert {e.class_name for e in ENTRIES if e.public and not e.name and not e.way} == {"Mixture"}


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.pairs], ids=lambda e: e.name)
def test_options_for_pairs_are_options_of_the_class(entry):
    for _, option, value in entry.pairs:
        model = entry.make(2).set_params(**{option: value})
        model._check_options()


def test_every_estimator_has_an_entry_and_runs_the_laws():
    from lowdim.models.base.estimator import Estimator

    def below(cls):
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    known = {entry.load_class() for entry in ENTRIES}
    ours = {c for c in below(Estimator) if c.__module__.startswith("lowdim.")}
    concrete = {c for c in ours if not any(sub in ours for sub in c.__subclasses__())}  # no base of a family
    assert concrete <= known, concrete - known
    assert all(inspect.getdoc(cls) for cls in known)
    in_laws = {type(model).__name__ for model in LAW_CASES.values()}
    elsewhere = {"GPLVM", "ICA", "KMedoids", "LinearDiscriminant", "MatrixFactorization", "Mixture", "VarianceSelector"}
    assert {entry.class_name for entry in ENTRIES if entry.public} == in_laws | elsewhere


def test_questions_cover_every_method():
    answers = {name for q in questions() for name in q.answer.split(", ")}
    assert {METHODS[name].class_name for name in FITTED} <= answers
