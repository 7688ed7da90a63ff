"""Climbs in memory, remembered by a checkpoint: a repeat asks the same and hears the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowdim
from lowdim.engine.checkpoint import replay as recall
from lowdim.engine.checkpoint.store import Checkpoint, best_of_checkpoint
from lowdim.engine.fold import Run, fold, recalled
from lowdim.engine.statistics import Sum
from lowdim.maths.optimise import climb
from lowdim.text.messages import LowdimWarning

BOUNDS = (np.full(6, -np.inf), np.full(6, np.inf))


class Hill:
    """Rosenbrock's valley upside down, which counts its calls and may break."""

    def __init__(self, most: int = 10**9) -> None:
        self.calls, self.most = 0, most

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.calls += 1
        if self.calls > self.most:
            raise OSError("the lights went out")
        step = x[1:] - x[:-1] ** 2
        slope = np.zeros_like(x)
        slope[:-1] = 2 * (1 - x[:-1]) + 400 * step * x[:-1]
        slope[1:] -= 200 * step
        return np.append(-float((100 * step**2).sum() + ((1 - x[:-1]) ** 2).sum()), slope)


def sums(block: Any) -> Sum:
    return Sum(block.x.sum(axis=0))


def job(place: Path, hill: Hill, *, before: bool = True, most: int = 500) -> tuple[bytes, bytes]:
    """A fold, a climb and another fold, as fits have them."""
    source = lowdim.as_source(np.arange(12.0).reshape(6, 2))
    with Checkpoint(place, lowdim.PCA(1), source) as kept:
        run = Run(checkpoint=kept)
        if before:
            fold(sums, source, run)
        f = recalled(run, "hill", hill)

        def see(x: np.ndarray, value: float) -> bool:
            kept.note(value)
            return False

        peak = climb(
            lambda x: (float((v := f(x))[0]), v[1:]), np.full(6, -1.0), see, bounds=BOUNDS, max_iter=most, tol=1e-12
        )
        after = fold(sums, source, run).value
    return peak.x.tobytes(), after.tobytes()


def test_a_repeat_hears_the_same_bits_and_computes_nothing(tmp_path: Path) -> None:
    first, again = Hill(), Hill()
    whole = job(tmp_path / "a", first)
    assert first.calls > 30 and job(tmp_path / "a", again) == whole and again.calls == 0


@pytest.mark.parametrize("interval", [0.0, 30.0])
@pytest.mark.parametrize("died", [0, 1, 7, 40])
def test_a_climb_that_dies_goes_on_to_the_same_bits(
    died: int, interval: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "SAVE_SECONDS", interval)
    first, rest = Hill(), Hill()
    whole = job(tmp_path / "whole", first)
    with pytest.raises(OSError, match="lights"):
        job(tmp_path / "a", Hill(died))
    assert job(tmp_path / "a", rest) == whole
    assert rest.calls == first.calls - died


def test_files_do_not_grow_beyond_a_stretch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "FILE_BYTES", 7 * 8 * 10)  # ten calls of seven numbers
    first, again = Hill(), Hill()
    whole = job(tmp_path / "a", first)
    assert len(list((tmp_path / "a").glob("0*.fold"))) == 2 + -(-first.calls // 10)
    assert job(tmp_path / "a", again) == whole and again.calls == 0


def test_more_passes_go_on_where_fewer_ended(tmp_path: Path) -> None:
    short, long, other = Hill(), Hill(), Hill()
    job(tmp_path / "a", short, most=20)
    whole = job(tmp_path / "b", other)
    assert job(tmp_path / "a", long) == whole and long.calls == other.calls - short.calls
    again = Hill()
    assert job(tmp_path / "a", again) == whole and again.calls == 0


def test_another_climb_is_computed_anew(tmp_path: Path) -> None:
    first, again = Hill(), Hill()
    job(tmp_path / "a", first)
    assert job(tmp_path / "a", again, before=False) == job(tmp_path / "b", Hill(), before=False)
    assert again.calls == first.calls


def test_a_damaged_stretch_is_computed_again(tmp_path: Path) -> None:
    first, again = Hill(), Hill()
    whole = job(tmp_path / "a", first)
    path = tmp_path / "a" / "000001.fold"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.warns(LowdimWarning, match="LD323"):
        assert job(tmp_path / "a", again) == whole
    assert again.calls == first.calls


def test_the_best_of_a_climb_can_be_had_without_the_table(tmp_path: Path) -> None:
    job(tmp_path / "a", Hill())
    found = best_of_checkpoint(tmp_path / "a")
    assert abs(found.params - 1.0).max() < 1e-4 and abs(found.objective) < 1e-8


def test_without_a_checkpoint_the_function_is_itself() -> None:
    hill = Hill()
    assert recalled(Run(), "hill", hill) is hill
