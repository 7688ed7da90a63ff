"""Bad tables: exactly one of an exact answer, a documented warning, a documented error."""

import warnings

import numpy as np
import pytest

from lowdim import CCA, ICA, LinearDiscriminant, VarianceSelector
from lowdim.text.messages import LowdimError, LowdimWarning, catalogue
from tests.sources.test_bad_input import KINDS, NUMBERS
from tests.table.outcomes import attributes


def fitted(name, X):
    """A model fitted to the table, and everything it then says of it."""
    n = X.shape[0] if len(getattr(X, "shape", ())) == 2 else 3
    if name == "CCA, one table":
        model = CCA(1, views=2).fit(X)
        return model, [
            model.transform(X),
            *model.impute(X, return_std=True),
            model.impute(X, draws=1),
            model.score_samples(X),
            model.sample(2),
            model.predict(X),
            *model.posterior(X),
        ]
    if name == "CCA, two tables":
        model = CCA(1).fit(X, np.random.default_rng(0).standard_normal((n, 2)))
        return model, [model.transform(X), model.predict(X), model.score_samples(X)]
    if name == "LinearDiscriminant":
        model = LinearDiscriminant().fit(X, np.arange(n) % 2)
        return model, [model.transform(X), model.predict_proba(X)]
    if name == "ICA":
        model = ICA(2).fit(X)
        return model, [model.transform(X), model.reconstruct(X), model.inverse_transform(model.transform(X))]
    model = VarianceSelector(2).fit(X)
    return model, [model.reconstruct(X)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CCA, one table", "CCA, two tables", "ICA", "LinearDiscriminant", "VarianceSelector"])
def test_every_bad_table_has_one_outcome(name):
    for case, (X, _) in {**NUMBERS, **KINDS}.items():
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                model, answers = fitted(name, X)
            except LowdimError as problem:
                assert problem.code in catalogue() and problem.fix, (case, str(problem))
                continue
        assert all(np.isfinite(answer).all() for answer in answers) and attributes(model) == "", case
        assert all(issubclass(w.category, LowdimWarning) for w in given), (case, [str(w.message) for w in given])
        assert repr(model)
