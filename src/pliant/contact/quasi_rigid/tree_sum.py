"""What many forces displace many points by, with far forces taken together: a tree over the forces [Barnes, Hut 1986].

A cluster of forces that is far from a group of points acts as four equal forces, two on each of its longer axes: total, first and second
moments are exact, so that the error falls with the cube of the opening. Forces beyond the reach of the response are left out. Every group
of points adds up in the order of the tree, so threads cannot matter.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from pliant.base import Floats, Ints
from pliant.contact.quasi_rigid.clusters import surround, tree
from pliant.contact.quasi_rigid.galerkin import fill_row
from pliant.contact.quasi_rigid.response import Code, Response
from pliant.kernels import allowed_threads, contiguous, kernel, parallel, prange

FORCES, POINTS = 12, 32  # most in a leaf
OPENING = 0.3  # radius of a cluster over its distance, above which it is opened
OVER = 5.5  # radii b beyond which exp(-r^2/2b^2) is below 3e-7


def tree_displacement(targets: Floats, sources: Floats, force: Floats, response: Response, opening: float = OPENING) -> Floats:
    """As `displacement`, [m] (m,), with an error of about 1e-3 opening^2 of what all forces could do."""
    loaded = force != 0.0
    if not loaded.any() or targets.shape[1] == 0:
        return np.zeros(targets.shape[1])
    sources, force = contiguous(sources[:, loaded]), contiguous(force[loaded])
    order, places = tree(sources, FORCES)
    sources, force = contiguous(sources[:, order]), contiguous(force[order])
    clusters, stands = _moments(sources, force, places)
    to, groups = tree(targets, POINTS)
    ends = contiguous(groups[:2, groups[2] < 0].T, np.int64)
    placed, out = contiguous(targets[:, to]), np.zeros(targets.shape[1])
    balls = np.empty((len(ends), 4))
    surround(placed, ends, balls)
    numba.set_num_threads(allowed_threads())
    over, cuts = _ends(response.code)
    scratch = np.empty((len(ends), POINTS))
    _acted(placed, ends, balls, sources, force, places, clusters, stands, *response.code, over, cuts, opening, scratch, out)
    back = np.empty_like(out)
    back[to] = out
    return back


def _ends(code: Code) -> tuple[float, Floats]:
    """(distance beyond which nothing is felt, radii at which a response jumps)."""
    terms, tables = code
    cuts = terms[np.isfinite(terms[:, 2]), 2]
    over = [cut if math.isfinite(cut) else OVER / math.sqrt(beta) if beta > 0.0 else math.inf for _, beta, cut in terms]
    if len(tables):
        ended = np.array_equal(tables[:, 1], -terms[:, 0]) and np.all(terms[:, 1] == 0.0)
        over.append(float(np.max(tables[:, 0] * (tables.shape[1] - 5))) if ended else math.inf)
        over = [max(over)] if not ended else [over[-1]]
    return max(over), contiguous(cuts)


def _moments(sources: Floats, force: Floats, places: Ints) -> tuple[Floats, Floats]:
    """(clusters (5, c): centre of forces, total, radius; the four forces that stand for each, (4, 4 c))."""
    clusters, second = np.empty((5, places.shape[1])), np.empty((places.shape[1], 3, 3))
    spread = np.empty(places.shape[1])
    _gathered(sources, force, places, clusters, second, spread)
    size, axes = np.linalg.eigh(second)
    arm = np.sqrt(np.maximum(2.0 * size[:, None, 1:], 0.0)) * axes[:, :, 1:]  # (c, 3, 2)
    x = clusters[:3].T[:, None] + np.stack([arm[:, :, 0], -arm[:, :, 0], arm[:, :, 1], -arm[:, :, 1]], axis=1)
    return clusters, contiguous(np.vstack([x.reshape(-1, 3).T, np.repeat(spread, 4)]))


@kernel
def _gathered(sources, force, places, clusters, second, spread):  # type: ignore[no-untyped-def]
    """Moments of the forces of each cluster."""
    d = np.empty(3)
    for k in range(places.shape[1]):
        first, end, total, far = places[0, k], places[1, k], 0.0, 0.0
        clusters[:3, k], second[k], spread[k] = 0.0, 0.0, 0.0
        for p in range(first, end):
            total += force[p]
            for i in range(3):
                clusters[i, k] += force[p] * sources[i, p]
        for i in range(3):
            clusters[i, k] /= total
        for p in range(first, end):
            spread[k] += force[p] / total * sources[3, p]
            for i in range(3):
                d[i] = sources[i, p] - clusters[i, k]
            far = max(far, d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
            for i in range(3):
                for j in range(3):
                    second[k, i, j] += force[p] / total * d[i] * d[j]
        clusters[3, k], clusters[4, k] = total, math.sqrt(far)


@kernel
def _row(nodes, x, y, z, tau2, terms, tables, start, stop, out):  # type: ignore[no-untyped-def]
    fill_row(nodes, (x, y, z, tau2), terms, tables, start, stop, out)


@kernel
def _add(nodes, source, p, force, terms, tables, first, end, scratch, out):  # type: ignore[no-untyped-def]
    """Add what one force does to a group."""
    _row(nodes, source[0, p], source[1, p], source[2, p], source[3, p], terms, tables, first, end, scratch)
    for i in range(end - first):
        out[first + i] += force * scratch[i]


@parallel
def _acted(  # type: ignore[no-untyped-def]
    nodes, groups, balls, sources, force, places, clusters, stands, terms, tables, over, cuts, opening, scratch, out
):
    for g in prange(len(groups)):
        first, end = groups[g, 0], groups[g, 1]
        cx, cy, cz, wide = balls[g, 0], balls[g, 1], balls[g, 2], balls[g, 3]
        stack = np.empty(128, np.int64)
        stack[0], height = 0, 1
        while height > 0:
            height -= 1
            k = stack[height]
            radius = clusters[4, k]
            away = math.sqrt((clusters[0, k] - cx) ** 2 + (clusters[1, k] - cy) ** 2 + (clusters[2, k] - cz) ** 2)
            if away - wide - radius > over:
                continue
            together = radius < opening * (away - wide)
            for c in range(len(cuts)):
                together = together and abs(away - cuts[c]) > wide + radius
            if together:
                for p in range(4 * k, 4 * k + 4):
                    _add(nodes, stands, p, 0.25 * clusters[3, k], terms, tables, first, end, scratch[g], out)
            elif places[2, k] < 0:
                for p in range(places[0, k], places[1, k]):
                    _add(nodes, sources, p, force[p], terms, tables, first, end, scratch[g], out)
            else:
                stack[height], stack[height + 1] = places[3, k], places[2, k]
                height += 2
