"""Every public class is in the API, on a page of the gallery, and has a command that exists or a reason why not."""

from __future__ import annotations

import importlib.util
import inspect
import sys

import pytest

import lowdim
from lowdim.registry import MODELS, MODULES
from tests.conftest import ROOT
from tests.docs.test_audit import lies

NAMES = [name for name in lowdim.__all__ if name not in MODULES]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(lowdim, name))]
GALLERY = ROOT / "docs" / "gallery"


def extension(name):
    """A module of docs/_ext."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.pop(0)


reach = extension("reach")


def test_models_are_classes_and_two_records_are_too():
    assert set(CLASSES) == set(MODELS) | {"PPCA", "Moments", "Run"}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_on_a_page_of_the_gallery(name):
    assert reach.used_by(name, GALLERY)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_a_command_that_exists_or_a_reason(name):
    typed = reach.typed(name)
    assert bool(typed) != (name in reach.NOT_TYPED), "one of both"
    assert not lies(typed.replace(" FILE", "")) if typed else len(reach.NOT_TYPED[name]) > 20


def test_no_reason_or_command_is_left_over():
    assert set(reach.TYPED) | set(reach.NOT_TYPED) <= set(NAMES) and not set(reach.TYPED) & set(reach.NOT_TYPED)


def test_the_api_and_the_page_have_every_name():
    listed = extension("derived").api()["api/index.rst"].split()
    page = reach.page(GALLERY)
    for name in set(NAMES) - {"PPCA"}:
        assert f"lowdim.{name}" in listed and f"| [{name}](api/lowdim.{name}.rst) |" in page, name
    assert "| its parameters are believed, not counted |" in page and "| yes |" in page
