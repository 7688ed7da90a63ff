"""Streams of random numbers: each use draws from `default_rng([seed, STREAM, ...])` with a number of its own.

Rows drawn by `sample` and `impute` are [seed, row] and [seed, draw, row], the starts of K-means and of mixtures
[seed, start]. Two numbers have two uses (SHARED), which draw different things of no bearing on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowdim.maths.linalg import Array

KMEANS_SAMPLE = 0  # rows among which centres are drawn
KERNEL_FEATURES = 6  # random features or landmarks of kernel PCA
EVIDENCE_SAMPLE = 7  # rows on which dimensions are judged
HELD_OUT_FOLDS = 11  # cells or rows dealt to folds
FACTOR_STARTS = 12  # vectors from which factors are looked for
SHUFFLED_TABLES = 13  # parallel analysis
FAR_ROWS = 14  # directions along which rows may be far
DISTANCE_PAIRS = 17  # pairs of rows of the distance law
FILL_TRIALS = 40  # cells hidden to check fills
FILL_DRAWS = 41  # fills drawn
BOOTSTRAP = 50  # rows drawn again
ICA_TURN = 51  # the first turn
RANDOM_PROJECTION = 61
LARGE_SAMPLE = 70  # rows of a file too large to read whole
GTM_JITTER = 71
GPLVM_START = 73
HELD_OUT_HASH = 74  # keys of the hash that holds cells of a stream out
BAYESIAN_GPLVM_START = 74
AUTOENCODER_TRAINING = 81
AUTOENCODER_BOUND = 82
AUTOENCODER_HELD_OUT = 83
DENSITY_NETWORK_START = 84
NONLINEAR_FA_FRESH = 85
NONLINEAR_FA_NETWORK = 86
DENSITY_NETWORK_CUBE = 87
DENSITY_NETWORK_EPOCH = 88
DENSITY_NETWORK_ROUND = 89
ROBUST_FIT = 91  # folds of rows, directions along which far rows are looked for
ROW_ORDER = 92  # keys of the hash that puts rows in an order of their own
LABEL_DEALS = 93  # values of a label dealt anew
RANDOM_FIELD = 450
COMPLETION_TRIAL = 451  # cells hidden to choose the model of unseen ones
SHARED = {"BAYESIAN_GPLVM_START"}  # which has the number of another stream


def normals(rng: Sequence[np.random.Generator], k: int) -> Array:
    """k standard normal numbers for each row, each row's from a generator of its own."""
    return np.array([row.standard_normal(k) for row in rng]).reshape(len(rng), k)
