"""Checkpoints: the same fit goes on from what it has folded, to the same bits, or says why it does not."""

from __future__ import annotations

import json
import os
import pkgutil
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lowdim
from lowdim.engine.checkpoint import store as checkpoint
from lowdim.engine.checkpoint.store import Checkpoint, best_of_checkpoint, function_identity, hash_of
from lowdim.engine.fold import Run, Serial, Threads, fold
from lowdim.engine.statistics import BlockSurvey, Columns, Moments, Sum, columns, moments
from lowdim.maths.gaussian import Sums
from lowdim.sources.arrays import MappedSource
from lowdim.sources.source import Source
from lowdim.sources.views import Chosen, Frame, Framed
from lowdim.storage import model_file as persist
from lowdim.text.errors import FileError, ModelWarning, TableError
from lowdim.text.messages import LowdimError
from tests.conftest import sparse_table
from tests.storage.saved import bits

FITS = {
    "PPCA": (lowdim.PPCA, {"n_components": 2}),
    "PCA": (lowdim.PCA, {"n_components": 2}),
    "standardized": (lowdim.PPCA, {"n_components": 2, "standardize": True}),
    "krylov": (lowdim.PCA, {"n_components": 2, "solver": "krylov"}),
    "qr": (lowdim.PCA, {"n_components": 2, "solver": "qr"}),
    "FA": (lowdim.FactorAnalysis, {"n_components": 2, "rotation": "varimax"}),
    "Dual": (lowdim.DualPPCA, {"n_components": 2}),
    "Bayes": (lowdim.BayesianPCA, {"n_components": 4}),
}


def table(gaps: bool = True, n: int = 700, d: int = 7) -> Any:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.5 * rng.standard_normal((n, d)) + 3.0
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def tiled(X: Any, block_tiles: int = 1) -> Source:
    return lowdim.as_source(X, tile=64, block_tiles=block_tiles)


class Refuses(Serial):
    """An executor that walks nothing: whoever gets by with it was answered from disk."""

    def map(self, f: Callable[[Iterable[Any]], Any], source: Source, first: int = 0) -> Iterator[Any]:
        raise AssertionError("rows were read")


class PowerError(Exception):
    """The power goes off."""


class Fails(Serial):
    """Dies after so many leaves; counts those it gave."""

    def __init__(self, leaves: int | None) -> None:
        self.leaves, self.given, self.asked = leaves, 0, list[int]()

    def map(self, f: Callable[[Iterable[Any]], Any], source: Source, first: int = 0) -> Iterator[Any]:
        self.asked.append(first)
        for leaf in super().map(f, source, first):
            if self.given == self.leaves:
                raise PowerError
            self.given += 1
            yield leaf


@pytest.fixture
def ckpt(tmp_path: Path) -> Path:
    return tmp_path / "fit.ckpt"


def ppca(X: Any, place: Path | None, **how: Any) -> Any:
    return lowdim.PPCA(2).fit(tiled(X), run=Run(checkpoint=place, **how))


# the same bits ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_with_a_checkpoint_has_the_same_bits_and_run_again_walks_nothing(
    name: str, gaps: bool, ckpt: Path
) -> None:
    cls, options = FITS[name]
    X = tiled(table(gaps, 150 if name == "Dual" else 700))
    plain = bits(cls(**options).fit(X))
    assert bits(cls(**options).fit(X, run=Run(checkpoint=ckpt))) == plain
    if name == "Dual":  # its positions are placed by a walk of their own
        return
    assert bits(cls(**options).fit(X, run=Run(checkpoint=str(ckpt), engine=Refuses()))) == plain


@pytest.mark.parametrize("trials", [5, pytest.param(50, marks=pytest.mark.drill)])
@pytest.mark.parametrize("name", ["PPCA", "krylov", "FA"])
def test_a_fit_that_dies_anywhere_goes_on_to_the_same_bits(name: str, trials: int, tmp_path: Path) -> None:
    cls, options = FITS[name]
    X, begun = tiled(table(name != "krylov", 200)), 0
    plain, whole = bits(cls(**options).fit(X)), Fails(None)
    cls(**options).fit(X, run=Run(engine=whole))
    for leaves in range(1, whole.given, max(1, whole.given // trials)):
        place = tmp_path / str(leaves)
        with pytest.raises(PowerError):
            cls(**options).fit(X, run=Run(engine=Fails(leaves), checkpoint=place))
        begun += (place / checkpoint.PART).exists()
        again = Fails(None)
        assert bits(cls(**options).fit(X, run=Run(engine=again, checkpoint=place))) == plain
        assert again.given == whole.given - leaves  # not one leaf is folded twice
    assert begun


@pytest.mark.parametrize("interval", [0.0, 30.0])
def test_inside_a_fold_the_tree_is_kept_now_and_then(
    interval: float, ckpt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = list[str]()
    monkeypatch.setattr(checkpoint, "SAVE_TREE_SECONDS", interval)
    monkeypatch.setattr(
        checkpoint, "save_values", lambda path, values: (written.append(path.name), persist.save_values(path, values))
    )
    lowdim.PCA(2).fit(tiled(table(False)), run=Run(checkpoint=ckpt))
    assert written == ["partial.fold"] * (11 if interval == 0.0 else 0) + ["000000.fold"]
    assert sorted(path.name for path in ckpt.iterdir()) == ["000000.fold", "lock", "manifest.json"]


def test_another_engine_and_another_block_size_go_on_to_the_same_bits(tmp_path: Path) -> None:
    X = table()
    plain = bits(lowdim.PPCA(2).fit(X_ := tiled(X)))
    for k, (leaves, tiles, engine) in enumerate([(3, 1, Threads(3)), (14, 2, Serial()), (25, 4, Threads(2))]):
        place = tmp_path / str(k)
        with pytest.raises(PowerError):
            lowdim.PPCA(2).fit(X_, run=Run(engine=Fails(leaves), checkpoint=place))
        assert bits(lowdim.PPCA(2).fit(tiled(X, tiles), run=Run(engine=engine, checkpoint=place))) == plain


def test_weights_sparse_tables_and_columns_in_another_order(tmp_path: Path) -> None:
    X, w = table(False), np.random.default_rng(0).integers(0, 3, 700)
    S = sparse_table((600, 40), 0.05, np.random.default_rng(1))
    chosen = Chosen(tiled(X), [3, 1, 0, 5, 2])
    fits: list[Callable[[Run], Any]] = [
        lambda run: lowdim.PPCA(2).fit(X, sample_weight=w, run=run),
        lambda run: lowdim.PCA(2, solver="krylov").fit(S, run=run),
        lambda run: lowdim.PPCA(2).fit(chosen, run=run),
    ]
    for k, fit in enumerate(fits):
        place = tmp_path / str(k)
        assert bits(fit(Run())) == bits(fit(Run(checkpoint=place)))
        assert bits(fit(Run())) == bits(fit(Run(checkpoint=place, engine=Refuses())))
    with pytest.raises(FileError, match="the table"):
        lowdim.PPCA(2).fit(X, sample_weight=w + 1, run=Run(checkpoint=tmp_path / "0"))


def test_ctrl_c_gives_the_best_so_far_and_the_same_call_goes_on(ckpt: Path) -> None:
    import signal

    X, passes = table(), list[int]()

    def press(step: Any) -> None:
        passes.append(step.passes)
        if step.passes == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(ModelWarning, match="LD211"):
        model = lowdim.PCA(2).fit(X, run=Run(checkpoint=ckpt, callback=press))  # a fold of its own comes after
    assert not model.converged_ and passes == [1, 2, 3, 4]
    assert bits(lowdim.PCA(2).fit(X, run=Run(checkpoint=ckpt))) == bits(lowdim.PCA(2).fit(X))


# another fit -----------------------------------------------------------------------------------------
def test_a_checkpoint_of_another_fit_is_refused_and_left_alone(ckpt: Path) -> None:
    X = table()
    ppca(X, ckpt)
    before = {path.name: path.read_bytes() for path in ckpt.iterdir()}
    changed, taller = X.copy(), np.vstack([X, X[:1]])
    changed[350, np.flatnonzero(~np.isnan(X[350]))[0]] += 1e-9
    others: dict[str, tuple[Any, Any]] = {
        "n_components=2 there, 3 here": (lowdim.PPCA(3), X),
        "standardize=False there, True here": (lowdim.PPCA(2, standardize=True), X),
        "the model (ProbabilisticPCA there, FactorAnalysis here)": (lowdim.FactorAnalysis(2), X),
        "the table": (lowdim.PPCA(2), changed),
        "the number of rows (700 there, 701 here)": (lowdim.PPCA(2), taller),
    }
    for words, (model, rows) in others.items():
        with pytest.raises(FileError) as caught:
            model.fit(tiled(rows), run=Run(checkpoint=ckpt))
        assert caught.value.code == "LD320" and words in str(caught.value) and "delete" in caught.value.fix, words
        assert "params_" not in vars(model)
    with pytest.raises(FileError, match="rows in a tile"):
        lowdim.PPCA(2).fit(X, run=Run(checkpoint=ckpt))
    pd = pytest.importorskip("pandas")
    with pytest.raises(FileError, match="the columns"):
        lowdim.PPCA(2).fit(
            lowdim.as_source(pd.DataFrame(X, columns=list("abcdefg")), tile=64), run=Run(checkpoint=ckpt)
        )
    assert {path.name: path.read_bytes() for path in ckpt.iterdir()} == before


def test_a_fit_that_ran_out_of_passes_goes_on_with_more(ckpt: Path) -> None:
    X = table()
    with pytest.warns(ModelWarning, match="LD201"):
        short = lowdim.PPCA(2, tol=1e-10, max_iter=3).fit(tiled(X), run=Run(checkpoint=ckpt))
    folds = len(list(ckpt.glob("*.fold")))
    longer = lowdim.PPCA(2, tol=1e-10).fit(tiled(X), run=Run(checkpoint=ckpt))
    assert folds == short.n_iter_ == 4 and longer.converged_  # the look and three passes
    assert bits(longer) == bits(lowdim.PPCA(2, tol=1e-10).fit(tiled(X)))


def test_random_states_are_told_apart(ckpt: Path) -> None:
    X, run = table(False), Run(checkpoint=ckpt)

    def model(seed: int) -> Any:
        return lowdim.PCA(2, solver="krylov", random_state=np.random.default_rng(seed))

    a, b = model(7).fit(X, run=run), model(7).fit(X, run=run._replace(engine=Refuses()))
    assert a.components_.tobytes() == b.components_.tobytes()
    with pytest.raises(FileError, match="random_state"):
        model(8).fit(X, run=run)
    assert hash_of(np.random.RandomState(1)) != hash_of(np.random.RandomState(2))


def test_another_version_is_another_fit(ckpt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ppca(table(), ckpt)
    monkeypatch.setattr(checkpoint, "VERSION", "9.9")
    with pytest.raises(FileError, match=r"lowdim's version \(0\.\S+ there, 9.9 here\)"):
        ppca(table(), ckpt)


def test_places_that_are_no_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("a")
    (tmp_path / "file").write_text("a")
    for place, code in (
        (tmp_path / "thesis", "LD321"),
        (tmp_path / "file", "LD304"),
        (tmp_path / "no" / "such", "LD304"),
    ):
        with pytest.raises(FileError) as caught:
            ppca(table(), place)
        assert caught.value.code == code and "delete" not in caught.value.fix
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.tex"]
    (tmp_path / "begun").mkdir()  # killed before there was a manifest
    (tmp_path / "begun" / "lock").touch()
    (tmp_path / "begun" / ".lowdim-0123456789abcdef-0123456789abcdef.tmp").write_text("half")
    ppca(table(), tmp_path / "begun")
    assert not [path for path in (tmp_path / "begun").iterdir() if path.name.startswith(".")]


def test_one_fit_at_a_time(ckpt: Path) -> None:
    X = tiled(table())
    with Checkpoint(ckpt, lowdim.PPCA(2), X), pytest.raises(FileError) as caught:
        lowdim.PPCA(2).fit(X, run=Run(checkpoint=ckpt))
    assert caught.value.code == "LD322"
    lowdim.PPCA(2).fit(X, run=Run(checkpoint=ckpt))


# damage ------------------------------------------------------------------------------------------------
def folds(place: Path) -> list[Path]:
    return sorted(place.glob("[0-9]*.fold"))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << at % 8
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("which", [0, 2, -1])
@pytest.mark.parametrize("how", ["flipped", "cut", "emptied"])
def test_a_damaged_fold_is_made_again(which: int, how: str, ckpt: Path) -> None:
    X = table()
    plain = bits(ppca(X, ckpt))
    path = folds(ckpt)[which]
    if how == "flipped":
        flip(path, 1234)
    else:
        os.truncate(path, 0 if how == "emptied" else path.stat().st_size // 2)
    counting = Fails(None)
    with pytest.warns(ModelWarning, match="LD323"):
        assert bits(ppca(X, ckpt, engine=counting)) == plain
    assert counting.given == 11  # one fold of eleven tiles
    assert bits(ppca(X, ckpt, engine=Refuses())) == plain


def test_a_damaged_partial_file_leaves_the_one_before(ckpt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SAVE_TREE_SECONDS", 0.0)
    X = table()
    with pytest.raises(PowerError):
        ppca(X, ckpt, engine=Fails(7))
    flip(ckpt / checkpoint.PART, 777)
    again = Fails(None)
    with pytest.warns(ModelWarning, match="LD323"):
        assert bits(ppca(X, ckpt, engine=again)) == bits(ppca(X, None))
    assert again.asked[0] == 7  # written after each leaf, and once more on dying


@pytest.mark.parametrize("count", [30, pytest.param(500, marks=pytest.mark.drill)])
def test_damage_anywhere_never_changes_the_answer(count: int, tmp_path: Path) -> None:
    X, rng = table(n=200), np.random.default_rng(count)
    place = tmp_path / "a"
    with pytest.raises(PowerError):
        ppca(X, place, engine=Fails(14))
    good = {path.name: path.read_bytes() for path in place.iterdir()}
    plain = bits(ppca(X, None))
    names = sorted(set(good) - {"lock"})
    for k in range(count):
        name = names[k % len(names)]
        for path in place.iterdir():
            path.unlink()
        for other, data in good.items():
            (place / other).write_bytes(data)
        if k % 3:
            flip(place / name, int(rng.integers(1 << 30)))
        else:
            os.truncate(place / name, int(rng.integers(len(good[name]))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            assert bits(ppca(X, place)) == plain, (name, k)


def test_a_damaged_manifest_costs_nothing_and_gives_nothing_away(ckpt: Path) -> None:
    X = table()
    plain = bits(ppca(X, ckpt))
    flip(ckpt / "manifest.json", 99)
    before = {path.name: path.read_bytes() for path in ckpt.iterdir()}
    with pytest.warns(ModelWarning, match="LD323"), pytest.raises(FileError, match="LD320"):
        ppca(X + 1.0, ckpt)  # whose folds these are is told by their keys
    assert {path.name: path.read_bytes() for path in ckpt.iterdir()} == before
    with pytest.raises(FileError, match="LD321"):
        best_of_checkpoint(ckpt)
    with pytest.warns(ModelWarning, match="LD323"):
        assert bits(ppca(X, ckpt, engine=Refuses())) == plain
    assert bits(ppca(X, ckpt, engine=Refuses())) == plain


def test_a_fold_under_another_key_ends_what_can_be_used(ckpt: Path) -> None:
    X = table()
    plain = bits(ppca(X, ckpt))
    files = folds(ckpt)
    foreign = persist.load_values(files[2]) | {"key": "0" * 64}
    persist.save_values(files[2], foreign)
    counting = Fails(None)
    assert bits(ppca(X, ckpt, engine=counting)) == plain
    assert counting.given == 11 * (len(files) - 2)


# disks and functions that will not ------------------------------------------------------------------------
def test_a_disk_that_fails_is_said_once_and_the_fit_goes_on(ckpt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    def full(path: Path, values: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_values", full)
    with pytest.warns(ModelWarning, match="LD324") as given:
        made = bits(ppca(table(), ckpt))
    assert len(given) == 1 and "No space left" in str(given[0].message)
    assert made == bits(ppca(table(), None)) and not folds(ckpt)


class Odd(NamedTuple):
    """Statistics nobody registered."""

    n: float

    def merge(self, other: Any) -> Any:
        return Odd(self.n + other.n)


def odd(block: Any) -> Odd:
    return Odd(float(len(block.x)))


def shifted(by: float, block: Any) -> Sum:
    return Sum(block.x.sum(axis=0) + by)


def test_statistics_that_cannot_be_stored_are_said_and_still_folded(ckpt: Path) -> None:
    X = tiled(table(False))
    with Checkpoint(ckpt, lowdim.PPCA(2), X) as memory, pytest.warns(ModelWarning, match="LD324.*a Odd"):
        assert fold(odd, X, Run(checkpoint=memory)).n == 700


def test_a_function_without_a_name_is_refused(ckpt: Path) -> None:
    X = tiled(table(False))
    with Checkpoint(ckpt, lowdim.PPCA(2), X) as memory:
        nameless: list[Any] = [
            lambda block: moments(block),
            partial(lambda a, block: moments(block), 1),
            partial(shifted, object()),
        ]
        for f in nameless:
            with pytest.raises(LowdimError, match="LD303"):
                fold(f, X, Run(checkpoint=memory))


def test_keys_tell_functions_arguments_models_and_views_apart(ckpt: Path) -> None:
    X = tiled(table(False))
    frames = [Framed(X, Frame(np.full(7, s), np.ones(7), np.ones(7))) for s in (0.0, 3.0)]
    with Checkpoint(ckpt, lowdim.PPCA(2), X) as memory:
        cases = [
            (columns, X),
            (moments, X),
            (partial(shifted, 1.0), X),
            (partial(shifted, 2.0), X),
            (partial(shifted, by=2.0), X),
            (partial(shifted, np.float64(3.0)), X),
            (moments, frames[0]),
            (moments, frames[1]),
            (moments, Chosen(X, [1, 2])),
            (moments, Chosen(X, [2, 1])),
        ]
        models: list[Any] = [lowdim.PPCA(2), lowdim.PPCA(3), lowdim.FactorAnalysis(2)]
        cases += [(partial(model._stats, 1.0), X) for model in models]
        keys = [hash_of((*function_identity(f), list(memory._seen(source)))) for f, source in cases]
    assert len(set(keys)) == len(keys)
    assert hash_of(partial(shifted, -0.0).args) != hash_of(partial(shifted, 0.0).args)


# values to the bit -----------------------------------------------------------------------------------------
def test_values_come_back_to_the_bit(tmp_path: Path) -> None:
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF80000DEADBEEF))[0]
    column = np.array([odd_nan, np.inf, -np.inf, -0.0, 5e-324])
    values = {
        "plain": [1, 1.5, None, "ß", True, (), -0.0],
        "odd": odd_nan,
        "inf": -np.inf,
        "numpy": np.float64(np.nan),
        "whole": np.int64(3),
        "array": column,
        "F": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "point": np.array(2.5),
        "empty": np.zeros((0, 3)),
        "strided": np.arange(8.0)[::2],
        "stats": BlockSurvey(Columns(1.0, 0.0, column, column, column, column, 3), None, None),
        "stack": [(3, Moments(np.float64(2.0), column, np.eye(5))), (0, Sum(np.array(np.nan)))],
    }
    persist.save_values(tmp_path / "v", values)
    again = persist.load_values(tmp_path / "v")
    assert list(again) == list(values)

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, np.ndarray):
            return a.shape == b.shape and a.tobytes() == b.tobytes() and (a.flags.fnc == b.flags.fnc)
        if isinstance(a, tuple | list):
            return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, float):
            return type(a) is type(b) and struct.pack("<d", a) == struct.pack("<d", b)
        return type(a) is type(b) and bool(a == b)

    assert {name: same(values[name], again[name]) for name in values} == dict.fromkeys(values, True)
    with pytest.raises(FileError, match="LD300"):
        lowdim.load(tmp_path / "v")  # no model


def test_a_model_file_is_no_fold(tmp_path: Path) -> None:
    lowdim.PCA(1).fit(table(False)).save(tmp_path / "m")
    with pytest.raises(FileError, match="LD300"):
        persist.load_values(tmp_path / "m")


def test_every_statistic_of_lowdim_can_be_stored() -> None:
    known, found = persist.RECORDS | persist.STATISTICS, set()
    for module in pkgutil.walk_packages(lowdim.__path__, "lowdim."):
        if module.name.split(".")[1] in ("engine", "maths", "models"):
            for name, thing in vars(import_module(module.name)).items():
                if isinstance(thing, type) and issubclass(thing, tuple) and "merge" in vars(thing):
                    found.add(name)
                    assert known.get(name) == thing.__module__, name
    assert {"Sums", "Moments", "DualSums", "BlockSurvey"} <= found


# without the table -----------------------------------------------------------------------------------------
def test_the_best_so_far_can_be_had_without_the_table(ckpt: Path) -> None:
    X, values = table(), list[float]()
    with pytest.raises(PowerError):
        ppca(X, ckpt, engine=Fails(11 * 5 + 3), callback=lambda step: values.append(step.objective))
    found = best_of_checkpoint(ckpt)
    assert found.model == "ProbabilisticPCA" and found.options["n_components"] == "2"
    assert found.history == tuple(values) and found.objective == max(values) and len(values) == 4
    assert isinstance(found.stats, Sums) and found.stats.log_density == found.objective
    whole = ppca(X, ckpt)
    assert best_of_checkpoint(ckpt).objective == whole.objective_  # this table's frame has unit scale
    P, Q = (np.linalg.qr(W)[0] for W in (best_of_checkpoint(ckpt).params.W, whole.components_.T))
    np.testing.assert_allclose(P @ P.T, Q @ Q.T, atol=1e-12)
    assert json.loads((ckpt / "manifest.json").read_text())["history"][-1][1] == whole.objective_


def test_a_checkpoint_without_passes_has_no_best(ckpt: Path) -> None:
    lowdim.PPCA(2).fit(table(False), run=Run(checkpoint=ckpt))
    with pytest.raises(FileError, match="LD321"):
        best_of_checkpoint(ckpt)


def test_a_model_counts_by_its_options() -> None:
    hashes = {checkpoint.hash_of(model) for model in (lowdim.PCA(2), lowdim.PCA(3), lowdim.PPCA(2), lowdim.PCA(2))}
    assert len(hashes) == 3


# a memory map that changes -------------------------------------------------------------------------------
@pytest.mark.parametrize("kept", [False, True])
def test_a_memory_map_that_changes_between_passes_is_noticed(kept: bool, tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    np.save(path, table())
    os.utime(path, ns=(1, 1))
    model = lowdim.PPCA(2).fit(table())
    before = bits(model)

    def write(step: Any) -> None:
        if step.passes == 2:
            with open(path, "r+b") as file:
                file.seek(128 + 8 * 7 * 300)
                file.write(np.float64(1e6).tobytes())

    run = Run(callback=write, checkpoint=tmp_path / "ckpt" if kept else None)
    with pytest.raises(TableError) as caught:
        model.fit(np.load(path, mmap_mode="r"), run=run)
    assert caught.value.code == "LD174" and bits(model) == before
    if kept:  # nor can what was folded before be mixed with the new rows
        with pytest.raises(FileError, match="LD320"):
            model.fit(np.load(path, mmap_mode="r"), run=Run(checkpoint=tmp_path / "ckpt"))


def test_a_memory_map_that_stays_is_fitted_as_ever(tmp_path: Path, ckpt: Path) -> None:
    np.save(tmp_path / "table.npy", table())
    X = np.load(tmp_path / "table.npy", mmap_mode="r")
    assert isinstance(lowdim.as_source(X[:, :4]), MappedSource)
    assert bits(lowdim.PPCA(2).fit(X)) == bits(lowdim.PPCA(2).fit(table()))
    assert bits(lowdim.PPCA(2).fit(X, run=Run(checkpoint=ckpt))) == bits(lowdim.PPCA(2).fit(table()))
    assert not isinstance(lowdim.as_source(table()), MappedSource)
