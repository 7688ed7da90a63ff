"""Model files: bit for bit what was saved, or refused; never code, never half a file."""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lowdim
from lowdim.storage import model_file as persist
from lowdim.text.errors import FileError
from tests.storage import hostile_models as hostile

SOURCE = Path(lowdim.__file__).parent
MODELS = {
    "PCA": {"n_components": 2},
    "ProbabilisticPCA": {"n_components": 2, "standardize": True},
    "FactorAnalysis": {"n_components": 2},
    "DualPPCA": {"n_components": 2},
    "BayesianPCA": {"n_components": 4},
}
VERBS = ("transform", "reconstruct", "impute", "score", "score_samples", "get_covariance")
CODE = (
    "exec",
    "compile",
    "import",
    "marshal.loads",
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "subprocess.Popen",
    "socket.",
    "ctypes.",
    "shutil.",
    "tempfile.",
)
watching, seen = False, list[str]()


def _watch(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook cannot be taken off again, so it looks only while `watching` is set."""
    written = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if watching and (event.startswith(CODE) or written):
        seen.append(event)


sys.addaudithook(_watch)


def table(gaps: bool = False, n: int = 60, d: int = 7) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(11)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.5 * rng.standard_normal((n, d)) + 3.0
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def fitted(name: str = "ProbabilisticPCA", gaps: bool = False) -> Any:
    return getattr(lowdim, name)(**MODELS[name]).fit(table(gaps))


def same(a: Any, b: Any) -> bool:
    """Equal in type and to the bit; a NumPy scalar is as good as the plain number it holds."""
    a, b = (part.item() if isinstance(part, np.generic) else part for part in (a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        layout = a.flags.fnc == b.flags.fnc and a.dtype == b.dtype and a.shape == b.shape
        return layout and (list(a) == list(b) if a.dtype == object else a.tobytes() == b.tobytes())
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a.hex() == b.hex() if isinstance(a, float) else bool(a == b)


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted()


@pytest.fixture(scope="module")
def good(model: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "model.lowdim"
    model.save(path)
    return path.read_bytes()


def refusal(path: Path | str) -> str:
    with pytest.raises(FileError) as caught:
        lowdim.load(path)
    assert str(path) in str(caught.value) and caught.value.fix
    return caught.value.code


# round trips --------------------------------------------------------------------------------------
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one_to_the_bit(name: str, gaps: bool, tmp_path: Path) -> None:
    model, X = fitted(name, gaps), table(gaps)
    model.save(tmp_path / "m")
    again: Any = lowdim.load(tmp_path / "m")
    assert type(again) is type(model)
    assert same(again.get_params(), model.get_params())
    assert same(dict(sorted(vars(again).items())), dict(sorted(vars(model).items())))
    for verb in VERBS:
        if hasattr(model, verb):
            args = () if verb == "get_covariance" else (X,)
            assert same(np.asarray(getattr(again, verb)(*args)), np.asarray(getattr(model, verb)(*args))), verb
    assert repr(again) == repr(model)


def test_named_columns_survive(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(), columns=["a", "ß", "名前", "</script>", "e'\"", "\\", "a\u202eb"])
    model = lowdim.PPCA(2).fit(frame).set_output(transform="pandas")
    model.save(tmp_path / "m")
    again: Any = lowdim.load(tmp_path / "m")
    assert again.feature_names_in_.dtype == object
    assert list(again.feature_names_in_) == list(frame.columns)
    assert again.transform(frame[frame.columns[::-1]]).equals(model.transform(frame))


def test_saving_twice_and_saving_a_loaded_model_give_the_same_bytes(good: bytes, tmp_path: Path) -> None:
    fitted().save(tmp_path / "a")
    lowdim.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == good


def test_a_file_is_a_zip_as_zipfile_itself_would_write_it(good: bytes, model: Any) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        assert archive.testzip() is None
        first = np.load(io.BytesIO(archive.read("0.npy")), allow_pickle=False)
    assert same(first, model.params_.W)
    assert hostile.forge(hostile.unpack(good)) == good


def test_a_loaded_model_can_be_fitted_cloned_and_changed(good: bytes, tmp_path: Path) -> None:
    from sklearn.base import clone

    (tmp_path / "m").write_bytes(good)
    again: Any = lowdim.load(tmp_path / "m")
    again.params_.W[0, 0] = 1.0  # its arrays are its own
    assert again.params_.W.flags.owndata and again.params_.W.flags.aligned
    assert same(vars(clone(again).fit(table())), vars(fitted()))


ARRAYS = {
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(20.0)[::3],
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "reversed": np.arange(5)[::-1],
    "broadcast": np.broadcast_to(np.float64(2.5), (3, 2)),
    "empty": np.zeros((4, 0)),
    "scalar": np.array(3.0),
    "truth": np.array([[True], [False]]),
    "text": np.array(["a", "\ud800"], dtype=object),
    "no text": np.array([], dtype=object),
    "extremes": np.array([5e-324, -0.0, 1.7976931348623157e308]),
    "cube": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_any_layout_come_back(name: str, model: Any, tmp_path: Path) -> None:
    given = ARRAYS[name]
    assert same(through(model, given, tmp_path / "m"), np.copy(given, order="F" if given.flags.fnc else "C"))


def through(model: Any, value: Any, path: Path) -> Any:
    """A value after a trip through a file, as a private attribute of a model."""
    carrier = lowdim.PPCA()
    vars(carrier).update(vars(model), _cargo=value)
    carrier.save(path)
    return vars(lowdim.load(path))["_cargo"]


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**200), 2**200),
    st.text(max_size=9),
    st.floats(allow_nan=False, allow_infinity=False),
    hnp.arrays(
        st.sampled_from(["f8", "i8", "?"]),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    max_leaves=9,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(value=VALUES)
def test_any_value_of_the_grammar_comes_back_to_the_bit(
    value: Any, model: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert same(through(model, value, tmp_path_factory.getbasetemp() / "any"), value)


def test_numpy_scalars_come_back_as_plain_numbers(model: Any, tmp_path: Path) -> None:
    back = through(model, (np.float64(0.1), np.int32(3), np.bool_(True), np.str_("a")), tmp_path / "m")
    assert same(back, (0.1, 3, True, "a"))


def test_moments_and_frames_may_stand_anywhere(model: Any, tmp_path: Path) -> None:
    moments = lowdim.Moments(3.0, np.arange(2.0), np.eye(2))
    assert same(through(model, {"a": [(moments, model.frame_)]}, tmp_path / "m"), {"a": [(moments, model.frame_)]})


def test_a_model_that_is_an_option_comes_back_with_its_options_alone(model: Any, tmp_path: Path) -> None:
    inner = lowdim.PCA(3, whiten=True)
    back = through(model, [inner, model], tmp_path / "m")
    assert type(back[0]) is lowdim.PCA and same(back[0].get_params(), inner.get_params())
    assert same(back[1].get_params(), model.get_params()) and "params_" not in vars(back[1])


@pytest.mark.parametrize("name", ["PCA", "ProbabilisticPCA", "FactorAnalysis"])
def test_partial_fit_goes_on_after_loading_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    first, second = table()[:40], table()[40:]
    model = getattr(lowdim, name)(n_components=2).partial_fit(first)
    model.save(tmp_path / "m")
    again: Any = lowdim.load(tmp_path / "m")
    assert same(vars(again.partial_fit(second)), vars(model.partial_fit(second)))


# what cannot be saved -----------------------------------------------------------------------------
def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


UNSAVABLE = {
    "generator": np.random.default_rng(0),
    "callable": print,
    "lambda": lambda: 0,
    "nan": float("nan"),
    "inf": np.float64(np.inf),
    "nan array": np.array([1.0, np.nan]),
    "float32": np.zeros(2, "f4"),
    "complex": 1j,
    "complex array": np.zeros(2, complex),
    "objects": np.array([1, "a"], dtype=object),
    "bytes": b"a",
    "set": {1},
    "keys": {1: 2},
    "endless": _endless(),
    "masked": np.ma.zeros(2),
    "fixed text": np.array(["a"]),
    "class": dict,
    "huge": 10**5000,
    "other tuple": os.stat("."),
    "longdouble": np.longdouble(1) / 3,
    "path": Path("a"),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_what_is_not_plain_is_named_and_not_saved(name: str, model: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="_cargo") as caught:
        through(model, UNSAVABLE[name], tmp_path / "m")
    assert caught.value.code == "LD303" and caught.value.fix
    assert not list(tmp_path.iterdir())


def test_options_models_and_attributes_that_cannot_be_saved(model: Any, tmp_path: Path) -> None:
    class PPCA2(lowdim.PPCA):  # type: ignore[name-defined,misc]
        pass

    odd = fitted()
    odd.transform = 1
    seeded = fitted("PCA").set_params(random_state=np.random.default_rng(0))
    for bad, word in (
        (PPCA2().fit(table()), "class PPCA2"),
        (odd, "attribute 'transform'"),
        (lowdim.PPCA(), "not fitted"),
        (seeded, "set_params\\(random_state=0\\)"),
    ):
        with pytest.raises(FileError, match=word) as caught:
            persist.save(bad, tmp_path / "m")
        assert caught.value.code == "LD303"
    assert not list(tmp_path.iterdir())


def test_a_manifest_too_long_for_loading_is_not_written(model: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="manifest") as caught:
        through(model, "x" * (5 << 20), tmp_path / "m")
    assert caught.value.code == "LD303"


# what is refused ----------------------------------------------------------------------------------
@pytest.fixture
def watch() -> Iterator[list[str]]:
    """The events of running code, importing, or writing to files while a test loads."""
    global watching
    for name in MODELS:
        persist._known(name, persist.MODELS)
    seen.clear()
    watching = True
    yield seen
    watching = False


def test_hostile_files_are_refused_and_run_nothing(good: bytes, tmp_path: Path, request: Any) -> None:
    cases = hostile.corpus(good, str(tmp_path / "canary"))
    assert len(cases) >= 150 and len({case.name for case in cases}) == len(cases)
    (tmp_path / "good").write_bytes(good)
    paths = []
    for i, case in enumerate(cases):
        paths.append(tmp_path / f"{i}")
        paths[-1].write_bytes(case.data)
    events = request.getfixturevalue("watch")
    lowdim.load(tmp_path / "good")
    wrong = [
        (case.name, code)
        for case, path in zip(cases, paths, strict=True)
        if (code := outcome(path)) not in case.codes.split()
    ]
    assert not wrong
    assert not events
    assert not (tmp_path / "canary").exists()


def test_what_the_forger_leaves_alone_loads(good: bytes, model: Any, tmp_path: Path) -> None:
    """So the hostile files are refused for what was done to them, not for being forged."""
    payload = dict(hostile.unpack(good))["0.npy"]
    for data in (
        hostile.edited(good, lambda tree: None),
        hostile.with_array(good, payload),
        hostile.edited(good, lambda tree: tree["state"].update(_x={"dict": {"a b": {"tuple": [[1]]}}})),
    ):
        (tmp_path / "m").write_bytes(data)
        assert same(vars(lowdim.load(tmp_path / "m"))["params_"], model.params_)


def outcome(path: Path) -> str:
    """The code of the refusal, or what else happened."""
    try:
        lowdim.load(path)
    except FileError as refused:
        return refused.code
    except Exception as escaped:
        return repr(escaped)
    return "loaded"


def test_the_canary_sings(watch: list[str]) -> None:
    exec("1")
    assert watch


def test_things_that_are_no_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    places = [tmp_path, tmp_path / "fifo", tmp_path / "loop", tmp_path / "absent", "/dev/zero", "a\0b"]
    for place in places:
        assert refusal(place) == "LD300"


def test_a_lie_about_size_takes_no_memory(good: bytes, tmp_path: Path) -> None:
    import tracemalloc

    (tmp_path / "m").write_bytes(
        hostile.edited(
            good, lambda tree: tree["state"]["params_"]["LinearGaussianParams"]["W"]["array"].update(shape=[2**30, 2])
        )
    )
    tracemalloc.start()
    refusal(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_file_of_another_format_is_named_as_such(good: bytes, tmp_path: Path) -> None:
    def newer(tree: Any) -> None:
        tree.clear()
        tree.update(format=7, something="else")

    (tmp_path / "m").write_bytes(hostile.edited(good, newer))
    with pytest.raises(FileError, match="format 7, this one reads 1"):
        lowdim.load(tmp_path / "m")


def check_damage(good: bytes, path: Path, flips: list[tuple[int, int]], cuts: list[int]) -> None:
    for at, bit in flips:
        path.write_bytes(good[:at] + bytes([good[at] ^ (1 << bit)]) + good[at + 1 :])
        assert refusal(path) in ("LD300", "LD301"), (at, bit)
    for cut in cuts:
        path.write_bytes(good[:cut])
        assert refusal(path) in ("LD300", "LD301"), cut


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=pytest.mark.drill)])
def test_a_flipped_bit_or_a_cut_anywhere_is_refused(count: int, good: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    ends = [(0, 0), (3, 1), (29, 7), (len(good) - 1, 5), (len(good) - 65, 0), (len(good) - 90, 2)]
    flips = [(int(rng.integers(len(good))), int(rng.integers(8))) for _ in range(count)]
    cuts = [0, 1, 42, 43, len(good) - 1, *rng.integers(0, len(good), count if count == 500 else 20).tolist()]
    check_damage(good, tmp_path / "m", ends + flips, cuts)


@pytest.mark.drill
def test_every_bit_and_every_cut(good: bytes, tmp_path: Path) -> None:
    check_damage(good, tmp_path / "m", [(at, at % 8) for at in range(len(good))], list(range(len(good))))


def test_random_bytes_with_a_correct_digest_never_escape(good: bytes, tmp_path: Path) -> None:
    """A fuzzer that can seal: refused, or loaded where the change does not matter; no other error."""
    rng = np.random.default_rng(5)
    body, ends = good[:-64], set()
    for _ in range(400):
        at, size = int(rng.integers(0, len(body))), int(rng.integers(0, 5))
        spoilt = body[:at] + rng.bytes(size) + body[at + int(rng.integers(0, 5)) :]
        (tmp_path / "m").write_bytes(hostile.sealed(spoilt))
        ends.add(outcome(tmp_path / "m"))
    assert ends <= {"LD300", "LD301", "LD302", "loaded"}


def test_fuzzed_manifests_never_escape(good: bytes, tmp_path: Path) -> None:
    """Every node of the tree replaced by every odd value: refused, or a model; no other error."""
    tree = json.loads(hostile.unpack(good)[0][1])
    odd: list[Any] = [None, True, -1, 1e300, "x", [], {}, [1], {"tuple": [1]}, {"dict": {"a b": 1}}, {"Frame": {}}]
    spots = list(nodes(tree))
    rng = np.random.default_rng(6)
    ends = set()
    for parent, key in spots:
        kept = parent[key]
        parent[key] = odd[int(rng.integers(len(odd)))]
        (tmp_path / "m").write_bytes(hostile.with_manifest(good, json.dumps(tree).encode()))
        ends.add(outcome(tmp_path / "m"))
        parent[key] = kept
    assert len(spots) > 100 and ends <= {"LD300", "LD301", "LD302", "loaded"}


def nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from nodes(tree[key])


# faults while saving ------------------------------------------------------------------------------
def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_file_then_name_then_folder_reach_the_disk_in_that_order(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, fsync, replace = list[str](), os.fsync, os.replace
    path = tmp_path / "m"

    def synced(number: int) -> None:
        at = Path(os.readlink(f"/proc/self/fd/{number}"))
        order.append("folder" if at == tmp_path else f"file, whole: {outcome(at)}")
        fsync(number)

    def named(source: Any, target: Any) -> None:
        order.append("name")
        assert Path(source).parent == Path(target).parent == tmp_path and not path.exists()
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", named)
    model.save(path)
    assert order == ["file, whole: loaded", "name", "folder"]


@pytest.mark.parametrize("place", ["fsync", "replace"])
@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_fault_leaves_the_old_file_and_no_temporary(
    place: str, fault: BaseException, good: bytes, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise fault

    (tmp_path / "m").write_bytes(good)
    monkeypatch.setattr(os, place, fail)
    with pytest.raises(FileError if isinstance(fault, OSError) else KeyboardInterrupt) as caught:
        model.save(tmp_path / "m")
    if isinstance(caught.value, FileError):
        assert caught.value.code == "LD304" and "No space left" in str(caught.value) and "bytes" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["m"] and (tmp_path / "m").read_bytes() == good


def test_places_that_cannot_be_written(model: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path, tmp_path / "fifo", tmp_path / "absent" / "m", "/dev/full", "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(FileError) as caught:
            model.save(place)
        assert caught.value.code == "LD304"
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"] and not Path("/dev/full").is_file()


def test_links_modes_and_long_names_are_kept(model: Any, good: bytes, tmp_path: Path) -> None:
    real, link, long = tmp_path / "real", tmp_path / "link", tmp_path / ("x" * 255)
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    model.save(str(link))
    model.save(long)
    assert link.is_symlink() and real.read_bytes() == long.read_bytes() == good
    assert real.stat().st_mode & 0o777 == 0o640


def test_threads_may_save_to_one_place(model: Any, good: bytes, tmp_path: Path) -> None:
    failed = list[BaseException]()

    def work() -> None:
        try:
            for _ in range(15):
                model.save(tmp_path / "m")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert [path.name for path in tmp_path.iterdir()] == ["m"] and (tmp_path / "m").read_bytes() == good


CHILD = """
import os, random, resource, signal, sys, time
import numpy as np
from pathlib import Path
import lowdim
from lowdim.text.errors import FileError

folder, trials = Path(sys.argv[1]), int(sys.argv[2])
path, both = folder / "m", []
for value in (1.0, 2.0):
    model = lowdim.load(folder.parent / "good")
    model._ballast = np.full(500_000, value)
    model.save(path)
    both.append((model, path.read_bytes()))

def kill(rng):
    child = os.fork()
    while not child:
        for model, _ in both:
            model.save(path)
    time.sleep(rng.uniform(0.0, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.read_bytes() in [data for _, data in both], "neither the old file nor the new"
    lowdim.load(path)
    return any(name.startswith(".") for name in os.listdir(folder))

def full():
    for limit in (0, 1, 1000, 100_000, 3_999_999, len(both[0][1]) - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            both[0][0].save(path)
        except FileError as refused:
            assert refused.code == "LD304" and "too large" in str(refused), refused
        else:
            raise AssertionError("saved beyond the limit")
        assert path.read_bytes() == both[1][1] and os.listdir(folder) == ["m"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

if trials:
    rng = random.Random(3)
    print(sum(kill(rng) for _ in range(trials)))
else:
    full()
both[0][0].save(path)
assert path.read_bytes() == both[0][1] and os.listdir(folder) == ["m"], os.listdir(folder)
"""


def in_child(good: bytes, tmp_path: Path, trials: int) -> str:
    (tmp_path / "good").write_bytes(good)
    (tmp_path / "folder").mkdir()
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "OPENBLAS_NUM_THREADS": "1"}
    if trials == 0:  # else the limit would keep Python from writing its caches too
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path / "folder"), str(trials)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("trials", [5, pytest.param(50, marks=pytest.mark.drill)])
def test_killed_while_saving_the_old_file_or_the_new_is_whole(trials: int, good: bytes, tmp_path: Path) -> None:
    halfway = int(in_child(good, tmp_path, trials))
    assert halfway or trials < 50  # some were really killed in the middle of it, and swept later


@pytest.mark.slow
def test_a_full_disk_is_said_and_the_old_file_stays(good: bytes, tmp_path: Path) -> None:
    in_child(good, tmp_path, 0)


# the source ---------------------------------------------------------------------------------------
FORBIDDEN = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "skops", "yaml"}


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (f"imports {name}" for name in names if name.split(".")[0] in FORBIDDEN)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec", "compile", "__import__"):
                yield f"calls {node.func.id}"
            yield from (
                "allows pickles"
                for word in node.keywords
                if word.arg == "allow_pickle" and ast.unparse(word.value) != "False"
            )


@pytest.mark.slow
def test_no_module_can_read_code_from_a_file() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 15
    found = {str(path): bad for path in files if (bad := list(offences(ast.parse(path.read_text(encoding="utf-8")))))}
    assert not found
    caught = "import pickle\nfrom joblib import load\neval('1')\nnp.load(f, allow_pickle=True)"
    assert len(list(offences(ast.parse(caught)))) == 4
