"""A model as the bytes of its file: two that are equal to the bit have the same."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # what is synced to a busy disk takes its time


def bits(model: Any) -> bytes:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        model.save(f"{folder}/model")
        return Path(f"{folder}/model").read_bytes()
