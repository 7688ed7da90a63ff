"""A text file is parsed once for all the passes of a fit, and nothing of that is left behind."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest

import lowdim
from lowdim.sources.files import spool, text_files
from lowdim.sources.files.open import stream
from lowdim.text.messages import LowdimError

N, D = 6000, 4


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2)) @ rng.standard_normal((2, D)) + 0.3 * rng.standard_normal((N, D))
    lines = [",".join("" if j and rng.random() < 0.1 else repr(float(v)) for j, v in enumerate(row)) for row in X]
    path = tmp_path_factory.mktemp("spool") / "t.csv"
    path.write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """The bytes of every piece of text that was parsed; no block is kept in memory, temporary folders lie in `tmp`."""
    found, parse = list[int](), text_files.parse
    monkeypatch.setattr(text_files, "parse", lambda text, *more: (found.append(len(text)), parse(text, *more))[1])
    monkeypatch.setattr("lowdim.sources.source.KEEP_CELLS", 0)
    monkeypatch.setattr("lowdim.sources.files.base.KEEP_CELLS", 0)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return found


def source(table: Path) -> lowdim.Source:
    return stream(table, tile=1024, block_tiles=1)


def fit(table: Path, run: lowdim.Run | None = None) -> lowdim.PPCA:
    return lowdim.PPCA(2, tol=1e-7).fit(source(table), run=run)


def test_text_is_parsed_once(table, parsed, tmp_path):
    assert fit(table).n_iter_ >= 5
    assert sum(parsed) < 2.5 * table.stat().st_size  # once, and the few rows that set the frame and name the file
    assert not list((tmp_path / "tmp").iterdir())


def test_without_room_it_is_parsed_in_every_pass_to_the_same_bits(table, parsed, monkeypatch):
    once = fit(table)
    parsed.clear()
    monkeypatch.setattr(spool, "FREE_SHARE", 0.0)
    again = fit(table)
    assert sum(parsed) > 4 * table.stat().st_size
    assert again.history_.tobytes() == once.history_.tobytes() and np.array_equal(again.components_, once.components_)


def test_a_disk_that_fills_up_costs_nothing(table, parsed, monkeypatch, tmp_path):
    want, wrote = fit(table), []

    class Full:
        def __init__(self, real):
            self.real = real

        def write_batch(self, batch):
            wrote.append(batch)
            if len(wrote) > 3:
                raise OSError(28, "No space left on device")
            self.real.write_batch(batch)

        def close(self):
            self.real.close()

    opened = spool.RowSpool._open

    def open_full(self, path):
        opened(self, path)
        self.writer = Full(self.writer)

    monkeypatch.setattr(spool.RowSpool, "_open", open_full)
    assert np.array_equal(fit(table).components_, want.components_)
    assert len(wrote) == 4 and not list((tmp_path / "tmp").iterdir())


def test_rows_that_are_lost_from_the_spool_are_parsed_again(table, parsed, monkeypatch):
    want = fit(table)
    monkeypatch.setattr(spool.RecordBatches, "rows", lambda *rows: (_ for _ in ()).throw(OSError("gone")))
    assert np.array_equal(fit(table).components_, want.components_)


def test_it_lies_in_the_checkpoint_and_goes_with_the_fit(table, parsed, monkeypatch, tmp_path):
    seen, add = set[str](), spool.RowSpool.add
    monkeypatch.setattr(spool.RowSpool, "add", lambda self, *rows: (seen.add(str(self.path)), add(self, *rows))[1])
    fit(table, lowdim.Run(checkpoint=tmp_path / "fit.ckpt"))
    assert seen == {str(tmp_path / "fit.ckpt" / spool.NAME)} and sum(parsed) < 2.5 * table.stat().st_size
    assert spool.NAME not in os.listdir(tmp_path / "fit.ckpt") and not list((tmp_path / "tmp").iterdir())


def test_an_error_leaves_nothing_behind(table, parsed, monkeypatch, tmp_path):
    def stop(*anything):
        assert list((tmp_path / "tmp").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(lowdim.PPCA, "_update", stop)
    with pytest.raises(KeyboardInterrupt):
        fit(table)
    assert not list((tmp_path / "tmp").iterdir())


def test_a_change_of_the_file_is_found_although_its_rows_are_kept(table, parsed, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table.read_bytes())
    found = source(path)
    with found.spooled(None):
        first = [found.block(i).x for i in range(found.n_blocks)]
        assert all(np.array_equal(found.block(i).x, x) for i, x in enumerate(first))
        path.write_bytes(table.read_bytes() + b"1,2,3,4\n")
        with pytest.raises(LowdimError, match="LD174"):
            found.block(0)


def test_any_order_of_runs_and_single_rows(table, parsed):
    found = source(table)
    want = [found.block(i) for i in range(found.n_blocks)]
    rows = np.array([5999, 0, 17, 700, 701, 17])
    few = found.block_of(rows)
    with found.spooled(None):
        for i in np.random.default_rng(1).permutation(found.n_blocks):
            found.block(int(i))
        found.block_of(slice(1000, 1700))  # runs that are there already are not kept twice
        parsed.clear()
        for i, block in enumerate(want):
            again = found.block(i)
            assert np.array_equal(again.x, block.x) and np.array_equal(again.mask, block.mask)
        assert np.array_equal(found.block_of(rows).x, few.x) and not parsed
    assert not found.spool.is_filling and found.spool.reader is None


def test_another_machine_has_no_spool(table):
    found = source(table)
    with found.spooled(None):
        found.block(0)
        sent = pickle.loads(pickle.dumps(found))
        assert not sent.spool.is_filling and np.array_equal(sent.block(1).x, found.block(1).x)


def test_a_folder_in_memory_gives_way_to_the_fit(tmp_path, monkeypatch):
    assert spool.has_room(tmp_path, 1000)
    monkeypatch.setattr(spool, "in_memory", lambda folder: True)
    monkeypatch.setattr(spool, "free_memory", lambda: 4000)
    assert spool.has_room(tmp_path, 1000) and not spool.has_room(tmp_path, 1001)
    assert not spool.has_room(tmp_path / "none", 1)
