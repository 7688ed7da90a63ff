"""What older files call things: names of records, their fields and options that have since been renamed or taken apart.

A model file names classes, fields and options. When one of them changes, the old word is entered here and old files
go on loading; `tests/stored` holds files to prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Values = dict[str, Any]

RECORDS: dict[str, str] = {}  # a record's former name -> its name
FIELDS: dict[str, dict[str, str]] = {}  # a record's name -> {a field's former name: its name}
OPTIONS: dict[str, Callable[[Values], Values]] = {}  # a model's name -> today's options of former ones
STATE: dict[str, Callable[[Values], Values]] = {}  # a model's name -> today's fitted attributes of former ones


def record_name(name: str) -> str:
    """Today's name of a record."""
    return RECORDS.get(name, name)


def fields(record: str, body: Values) -> Values:
    """A record's fields by today's names."""
    renamed = FIELDS.get(record, {})
    return {renamed.get(name, name): value for name, value in body.items()}


def options(model: str, values: Values) -> Values:
    """A model's options by today's names."""
    return OPTIONS[model](values) if model in OPTIONS else values


def state(model: str, values: Values) -> Values:
    """A model's fitted attributes by today's names."""
    return STATE[model](values) if model in STATE else values
