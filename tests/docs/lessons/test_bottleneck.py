"""What autoencoders of each width lose, against PCA and by hand."""

import numpy as np
import pytest
from lessons.bottleneck import bottleneck
from sklearn import decomposition as peers

import lowdim as ld
from tests.plot.svg_checks import same_twice
from tests.plot.tables import roll


@pytest.mark.filterwarnings("ignore:LD201")
def test_losses_are_those_of_pca_and_the_linear_autoencoder_meets_it():
    X, _ = roll()
    plot = same_twice(lambda: bottleneck(ld.Autoencoder(hidden=6, max_iter=20), X, [1, 2, 3], seeds=2))
    out = np.arange(len(X)) % 5 == 4
    for k in (1, 2, 3):
        peer = peers.PCA(k).fit(X[~out])
        left = ((X[out] - peer.inverse_transform(peer.transform(X[out]))) ** 2).sum()
        assert plot.data["pca"][k - 1] == pytest.approx(left / ((X[out] - peer.mean_) ** 2).sum(), rel=1e-9)
    assert plot.data["linear"] == pytest.approx(plot.data["pca"], abs=1e-10)
    assert "The linear autoencoder meets PCA at every width." in plot.sentence
    one = ld.Autoencoder(2, hidden=6, max_iter=20, random_state=1).fit(X[~out])
    left = ((X[out] - one.reconstruct(X[out])) ** 2).sum() / ((X[out] - one.mean_) ** 2).sum()
    assert plot.data["network"].shape == (3, 2) and plot.data["network"][1, 1] == pytest.approx(left, rel=1e-9)


def test_more_columns_than_rows():
    X = np.random.default_rng(0).standard_normal((6, 8))
    assert bottleneck(ld.Autoencoder(), X, seeds=1).name == "bottleneck"
