"""Matrix factorisation the slow way: one user, one item, one rating at a time, no packed triangles."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import gamma, multivariate_normal


@dataclass
class Model:
    """Beliefs N(mean, cov) of every user (z, b) and item (w, b), gamma precisions, and the priors."""

    user_mean: np.ndarray
    user_cov: np.ndarray
    item_mean: np.ndarray
    item_cov: np.ndarray
    shape: np.ndarray
    rate: np.ndarray
    user_prior: tuple
    item_prior: tuple
    noise: tuple


def users_given_items(ratings, model, tau):
    """Each user's posterior for precisions tau, then each user's precision."""
    for u in range(len(tau)):
        mu, S = model.user_prior
        P, h = np.linalg.inv(S), np.linalg.inv(S) @ mu
        for v, i, x in ratings:
            if v == u:
                A, r, _ = moments(model.item_mean[i], model.item_cov[i], x)
                P, h = P + tau[u] * A, h + tau[u] * r
        model.user_cov[u] = np.linalg.inv(P)
        model.user_mean[u] = model.user_cov[u] @ h
        mine = [(i, x) for v, i, x in ratings if v == u]
        error = sum(squared_error(model, u, i, x) for i, x in mine)
        model.shape[u], model.rate[u] = model.noise[0] + len(mine) / 2, model.noise[1] + error / 2


def items_given_users(ratings, model):
    for j in range(len(model.item_mean)):
        mu, S = model.item_prior
        P, h = np.linalg.inv(S), np.linalg.inv(S) @ mu
        for u, i, x in ratings:
            if i == j:
                A, r, _ = moments(model.user_mean[u], model.user_cov[u], x)
                t = model.shape[u] / model.rate[u]
                P, h = P + t * A, h + t * r
        model.item_cov[j] = np.linalg.inv(P)
        model.item_mean[j] = model.item_cov[j] @ h


def moments(mean, cov, x):
    """E[f f'], E[f (x - b)] and E[(x - b)^2] of the other side's f = (factors, 1) and bias b."""
    k = len(mean) - 1
    full = np.zeros((k + 2, k + 2))  # E of (factors, 1, b) with itself
    keep = [*range(k), k + 1]
    e = np.append(np.append(mean[:k], 1.0), mean[k])
    full[np.ix_(keep, keep)] = cov
    full += np.outer(e, e)
    f = np.append(mean[:k], 1.0)
    return full[: k + 1, : k + 1], x * f - full[: k + 1, k + 1], x**2 - 2 * x * mean[k] + full[k + 1, k + 1]


def squared_error(model, u, i, x):
    """E[(x - w'z - b_u - b_i)^2], every expectation written out."""
    z, a, w, b = model.user_mean[u][:-1], model.user_mean[u][-1], model.item_mean[i][:-1], model.item_mean[i][-1]
    U, V = model.user_cov[u], model.item_cov[i]
    off = x - w @ z - a - b
    product = np.trace(U[:-1, :-1] @ V[:-1, :-1]) + w @ U[:-1, :-1] @ w + z @ V[:-1, :-1] @ z
    return off**2 + product + U[-1, -1] + V[-1, -1] + 2 * w @ U[:-1, -1] + 2 * z @ V[:-1, -1]


def bound(ratings, model, hyper):
    """The evidence lower bound; `hyper` = (weight, users' and items' imagined covariances)."""
    total = 0.0
    for u, i, x in ratings:
        log_t = digamma(model.shape[u]) - np.log(model.rate[u])
        t = model.shape[u] / model.rate[u]
        total += 0.5 * (log_t - np.log(2 * np.pi)) - 0.5 * t * squared_error(model, u, i, x)
    rated_users, rated_items = {u for u, _, _ in ratings}, {i for _, i, _ in ratings}
    total -= sum(divergence(model.user_mean[u], model.user_cov[u], *model.user_prior) for u in rated_users)
    total -= sum(divergence(model.item_mean[i], model.item_cov[i], *model.item_prior) for i in rated_items)
    total -= sum(gamma_divergence(model.shape[u], model.rate[u], *model.noise) for u in rated_users)
    weight, users, items = hyper
    for S, like in ((model.user_prior[1], users), (model.item_prior[1], items)):
        total -= weight / 2 * (np.linalg.slogdet(S)[1] + np.trace(like @ np.linalg.inv(S)))
    return total


def divergence(mean, cov, mu, S):
    """KL(N(mean, cov) | N(mu, S)) from entropies and densities."""
    entropy = multivariate_normal(mean, cov).entropy()
    cross = -multivariate_normal(mu, S).logpdf(mean) + 0.5 * np.trace(np.linalg.solve(S, cov))
    return cross - entropy


def gamma_divergence(a, b, a0, b0):
    entropy = gamma(a, scale=1 / b).entropy()
    cross = -(a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * (digamma(a) - np.log(b)) - b0 * a / b)
    return cross - entropy


def priors(model, ratings, hyper):
    """The priors that suit users and items with ratings best, beside the imagined ones."""
    weight, *likes = hyper
    found = []
    sides = (
        (model.user_mean, model.user_cov, {u for u, _, _ in ratings}),
        (model.item_mean, model.item_cov, {i for _, i, _ in ratings}),
    )
    for (mean, cov, who), like in zip(sides, likes, strict=True):
        mu = np.mean([mean[v] for v in who], axis=0)
        scatter = sum(cov[v] + np.outer(mean[v] - mu, mean[v] - mu) for v in who)
        found.append((mu, (scatter + weight * like) / (len(who) + weight)))
    return found
