"""Arrays in files: sparse matrices, headers that lie."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import lowdim
from lowdim.text.messages import LowdimError
from tests.conftest import sparse_table
from tests.sources.files.tables import table


def test_sparse_files(tmp_path):
    S = sparse_table((400, 6), 0.3, np.random.default_rng(3))
    for form in ("csr", "csc", "coo", "bsr"):
        sp.save_npz(tmp_path / "s.npz", S.asformat(form))
        np.testing.assert_array_equal(table(lowdim.stream(tmp_path / "s.npz")), S.toarray())
    scipy.io.mmwrite(tmp_path / "s.mtx", S)
    gaps = table(lowdim.stream(tmp_path / "s.mtx", zeros="gaps"))
    np.testing.assert_allclose(np.nan_to_num(gaps), S.toarray(), rtol=1e-15)
    assert np.isnan(gaps).sum() == S.shape[0] * S.shape[1] - S.nnz
    scipy.io.mmwrite(tmp_path / "d.mtx", S.toarray())
    np.testing.assert_allclose(table(lowdim.stream(tmp_path / "d.mtx")), S.toarray(), rtol=1e-15)
    np.savez(tmp_path / "p.npz", data=np.array([{"a": 1}], dtype=object))
    (tmp_path / "h.mtx").write_text("%%MatrixMarket matrix coordinate real general\n9 9 999999999999\n1 1 1.0\n")
    head = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.5\n"
    for end in ("2 2 4.7", "2 2 4.7E-1", "2 2 -4.\n"):
        (tmp_path / "e.mtx").write_text(head + end)
        assert lowdim.stream(tmp_path / "e.mtx").n == 3
    for end in ("2 2 4.7E", "2 2 4.7E- ", "2 2 4.7Ex"):  # SciPy's reader crashes on these
        (tmp_path / "e.mtx").write_text(head + end)
        with pytest.raises(LowdimError, match="LD015"):
            lowdim.stream(tmp_path / "e.mtx")
    bad = S.tocsr()
    np.savez(
        tmp_path / "i.npz", format=b"csr", shape=[400, 6], data=bad.data, indices=bad.indices + 90, indptr=bad.indptr
    )
    for name in ("p.npz", "h.mtx", "i.npz"):
        with pytest.raises(LowdimError, match="LD015"):
            lowdim.stream(tmp_path / name)


def test_a_npy_header_that_lies_allocates_nothing(tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 50)})
        file.write(bytes(4000))
    with pytest.raises(LowdimError, match="LD015"):
        lowdim.stream(tmp_path / "x.npy")


@pytest.mark.parametrize("place", [60, 80, -1])
def test_zero_bytes_in_a_matrix_market_file_are_refused(place, tmp_path):
    """SciPy's reader ends the process there."""
    path = tmp_path / "zeros.mtx"
    scipy.io.mmwrite(path, sparse_table((12, 5), 0.4, np.random.default_rng(0)))
    data = path.read_bytes()
    path.write_bytes(data[:place] + bytes(6) + data[place:])
    with pytest.raises(LowdimError, match=r"zero or control bytes|breaks off") as caught:
        lowdim.stream(path)
    assert caught.value.code == "LD015"


def test_rows_that_no_file_can_have_are_refused_before_they_cost_memory(tmp_path):
    path = tmp_path / "rows.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2147483648 4 1\n1 1 1.0\n")
    with pytest.raises(LowdimError, match="2,147,483,648 rows") as caught:
        lowdim.stream(path)
    assert caught.value.code == "LD170"
