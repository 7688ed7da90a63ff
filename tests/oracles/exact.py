"""Principal components of stored doubles in 50 digits."""

import mpmath as mp
import numpy as np


def pca(X, digits: int = 50):
    """Mean, variances (n - 1, falling) and unit axes (rows) of a table, correct to double precision."""
    with mp.workdps(digits):
        n, d = X.shape
        cells = [[mp.mpf(float(x)) for x in row] for row in X]
        mean = [mp.fsum(row[j] for row in cells) / n for j in range(d)]
        off = [[row[j] - mean[j] for j in range(d)] for row in cells]
        C = mp.matrix(d, d)
        for j in range(d):
            for k in range(j + 1):
                C[j, k] = C[k, j] = mp.fsum(row[j] * row[k] for row in off) / (n - 1)
        values, V = mp.eigsy(C)
        order = sorted(range(d), key=lambda k: -values[k])
        axes = np.array([[float(V[j, k]) for j in range(d)] for k in order])
        return np.array([float(m) for m in mean]), np.array([float(values[k]) for k in order]), axes
