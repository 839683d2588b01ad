"""Curved triangles: the smooth surface that a mesh stands for, with the edges that are sharp kept.

Each triangle becomes a cubic patch through its corners with given normals there [Vlachos 2001]. How good that is depends on the normals:
those weighted with areas leave 5 to 20 % of how far flat triangles are below a round surface, those of [Max 1999], exact on balls, 1 to
10 %, and the normal of a cubic fitted to the two rings of vertices around each corner [Cazals 2005] 0.3 to 3 %, as exact normals do. So
the last are taken. Across an edge that bends by more than CREASE nothing is smooth: corners on its two sides have normals of their own,
from the vertices of their own side. So it is where a flat side of several triangles meets something much smaller, a bevel or a fillet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from pliant.base import Bools, Floats, Ints
from pliant.geometry.components import labels
from pliant.geometry.mesh import Surface
from pliant.geometry.normals import face_normals
from pliant.geometry.topology import unique_edges

CREASE = 40.0  # [degree] by which triangles on the two sides of a sharp edge bend at least
FLAT = 1.0, 2.0  # [degree] by which triangles of a flat side bend at most, and differ from their mean
LARGE = 8.0  # times the area of what is beyond an edge: a flat side so much larger ends there
RINGS = 2  # of vertices around a corner that normals come from
CUBIC, QUADRATIC = 12, 6  # neighbours with which such a polynomial is fitted
TERMS = [(t, r) for t in (1, 2, 3) for r in range(t + 1)]  # x^(t - r) y^r of a polynomial that is 0 at the origin
MOST = 30  # nearest neighbours that are used
RIDGE = 1e-9  # of the normal equations: symmetric rings leave a cubic undetermined, which then stays zero


@dataclass(frozen=True)
class Curved:
    """A mesh whose corners have normals: one for all faces that meet smoothly at a vertex."""

    surface: Surface
    blended: bool = False  # means of the polynomials of the corners in place of patches: less exact, and a measure of how much

    @property
    def corner(self) -> Ints:
        """(m, 3) smooth corner of each corner of a face: corners of a vertex are the same if no sharp edge is between their faces."""
        return self._joined[0]

    @property
    def sharp(self) -> np.ndarray:
        """(m, 3) whether the edge from a corner of a face to the next is sharp: both sides end in the same curve."""
        return self._joined[1]

    @cached_property
    def _joined(self) -> tuple[Ints, np.ndarray]:
        faces = self.surface.faces
        pairs = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
        edge = unique_edges(pairs)[1]
        order = np.argsort(edge, kind="stable")
        first = np.flatnonzero(np.diff(edge[order], prepend=-1))
        count = np.diff(np.append(first, len(edge)))
        one, two = order[first[count == 2]], order[first[count == 2] + 1]
        normal = face_normals(self.surface.points, faces)
        bend = np.sum(normal[one // 3] * normal[two // 3], axis=1)
        smooth = (bend > math.cos(math.radians(CREASE))) & (pairs[one, 0] == pairs[two, 1])
        smooth &= (bend > math.cos(math.radians(FLAT[1]))) | ~_beside_flat(self.surface.points, faces, normal, one // 3, two // 3, bend)
        one, two = one[smooth], two[smooth]
        after = lambda c: c - c % 3 + (c + 1) % 3
        i, j = np.concatenate([one, after(one)]), np.concatenate([after(two), two])
        found = labels(faces.size, np.stack([i, j], axis=1))
        joined = np.flatnonzero(count == 2)
        one, two = order[first[joined]], order[first[joined] + 1]
        crease = (found[one] != found[after(two)]) | (found[after(one)] != found[two])
        sharp = np.zeros(faces.size, bool)
        sharp[one[crease]] = sharp[two[crease]] = True
        return found.reshape(-1, 3), sharp.reshape(-1, 3)

    @cached_property
    def _along(self) -> Floats:
        """(v, 3) unit tangents of sharp edges at vertices where just two of them meet and go on smoothly; else zero."""
        points, faces = self.surface.points, self.surface.faces
        ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2)[self.sharp]
        ends = unique_edges(ends)[0] if len(ends) else np.zeros((0, 2), np.int64)
        at, other = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
        order = np.argsort(at, kind="stable")
        at, other = at[order], other[order]
        first = np.flatnonzero(np.diff(at, prepend=-1))
        two = first[np.diff(np.append(first, len(at))) == 2]
        middle, one, last = points[at[two]], points[other[two]], points[other[two + 1]] if len(two) else points[other[two]]
        ahead, behind = last - middle, middle - one
        straight = np.sum(ahead * behind, axis=1) / np.maximum(np.linalg.norm(ahead, axis=1) * np.linalg.norm(behind, axis=1), 1e-300)
        out = np.zeros_like(points)
        t = (last - one) / np.maximum(np.linalg.norm(last - one, axis=1, keepdims=True), 1e-300)
        out[at[two]] = np.where((straight > math.cos(math.radians(CREASE)))[:, None], t, 0.0)
        return out

    @cached_property
    def vertex(self) -> Ints:
        """(c,) vertex of each smooth corner."""
        out = np.empty(int(self.corner.max(initial=-1)) + 1, np.int64)
        out[self.corner.ravel()] = self.surface.faces.ravel()
        return out

    @cached_property
    def near(self) -> csr_array:
        """Neighbours of smooth corners, and themselves."""
        n, c = len(self.vertex), self.corner
        i, j = np.concatenate([c[:, 0], c[:, 1], c[:, 2]]), np.concatenate([c[:, 1], c[:, 2], c[:, 0]])
        links = coo_array((np.ones(2 * len(i)), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n)).tocsr()
        return csr_array(links + eye_array(n, format="csr"))

    def fits(self, chosen: Ints) -> Fits:
        """Polynomials through smooth corners."""
        near = self.near[chosen]
        for _ in range(RINGS - 1):
            near = near @ self.near
        return fitted(self.surface.points[self.vertex], chosen, csr_array(near), self._of_faces[chosen], self._spread[chosen])

    @cached_property
    def _of_faces(self) -> Floats:
        """(c, 3) sum of e x e' / (|e|² |e'|²) over the faces at a smooth corner [Max 1999]: exact on balls."""
        x, total = self.surface.points[self.surface.faces], np.zeros((len(self.vertex), 3))
        for k in range(3):
            e, other = x[:, (k + 1) % 3] - x[:, k], x[:, (k + 2) % 3] - x[:, k]
            size = np.maximum(np.sum(e**2, axis=1) * np.sum(other**2, axis=1), 1e-300)
            n = np.cross(e, other) / size[:, None]
            total += np.stack([np.bincount(self.corner[:, k], n[:, i], len(total)) for i in range(3)], axis=1)
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)

    @cached_property
    def _spread(self) -> Floats:
        """(c,) largest slope of the faces at a smooth corner against its mean normal: no fit of it is steeper."""
        along = np.einsum("fi,fki->fk", face_normals(self.surface.points, self.surface.faces), self._of_faces[self.corner])
        least = np.ones(len(self.vertex))
        np.minimum.at(least, self.corner.ravel(), along.ravel())
        return np.sqrt(np.maximum(1.0 - least**2, 0.0)) / np.maximum(least, 1e-3)

    def at(self, faces: Ints, weights: Floats) -> Floats:
        """(m, k, 3) [m] points of some faces at barycentric weights (k, 3), or at others in each face (m, k, 3)."""
        corners, back = np.unique(self.corner[faces], return_inverse=True)
        fits, back = self.fits(corners), back.reshape(-1, 3)
        x = self.surface.points[self.surface.faces[faces]]
        weights = np.broadcast_to(weights, (len(faces), *np.shape(weights)[-2:]))
        out = patched(x, fits.normal[back], self.sharp[faces], self._along[self.surface.faces[faces]], weights)
        if self.blended:
            inner = np.flatnonzero(~self.sharp[faces].any(axis=1))
            out[inner] = blended(x[inner], fits, back[inner], weights[inner])
        return out

    def on(self, corner: Ints, weight: Floats) -> Floats:
        """(n, 3) [m] points that ride on up to three vertices of a face each, as those of geometry/subdivide.py do."""
        points, faces = self.surface.points, self.surface.faces
        out = np.einsum("nc,nci->ni", weight, points[corner])
        inner = np.flatnonzero(np.count_nonzero(weight, axis=1) > 1)
        if len(inner) == 0:
            return out
        used = np.where(weight[inner] > 0.0, corner[inner], -1)
        key = np.sort(used, axis=1)  # two vertices: -1 before them
        edges = (np.sort(np.insert(faces[:, [i, (i + 1) % 3]], 0, -1, axis=1), axis=1) for i in range(3))
        sides = np.concatenate([np.sort(faces, axis=1), *edges])
        names, first = np.unique(sides, axis=0, return_index=True)
        _, place = np.unique(np.concatenate([names, key]), axis=0, return_inverse=True)
        row = np.full(int(place.max()) + 1, -1)
        row[place[: len(names)]] = first % len(faces)
        face = row[place[len(names) :]]
        known = face >= 0
        inner, face, used = inner[known], face[known], used[known]
        same = used[:, None, :] == faces[face][:, :, None]
        weights = np.sum(np.where(same, weight[inner][:, None, :], 0.0), axis=2)
        out[inner] = self.at(face, weights[:, None])[:, 0]
        return out


def _beside_flat(points: Floats, faces: Ints, normal: Floats, one: Ints, two: Ints, bend: Floats) -> np.ndarray:
    """(e,) whether one of the faces at an edge belongs to a flat side much larger than what is beyond the edge: a bevel or the beginning
    of a fillet, with which a flat side does not bend."""
    flat = bend > math.cos(math.radians(FLAT[0]))
    part = labels(len(faces), np.stack([one[flat], two[flat]], axis=1))
    x = points[faces]
    area = 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    total = np.bincount(part, area)
    mean = np.stack([np.bincount(part, area * normal[:, i]).astype(np.float64) for i in range(3)], axis=1)
    mean = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    least = np.ones(len(total))
    np.minimum.at(least, part, np.sum(normal * mean[part], axis=1))
    plane = (least > math.cos(math.radians(FLAT[1]))) & (np.bincount(part) > 1)
    side = np.where(plane[part], total[part], 0.0)  # 0: no flat side, but part of a round surface
    small = np.where(plane[part], total[part], area)
    return (side[one] > LARGE * small[two]) | (side[two] > LARGE * small[one])


def patched(x: Floats, n: Floats, sharp: np.ndarray, along: Floats, weights: Floats) -> Floats:
    """(m, k, 3) [m] cubic patches through corners x (m, 3, 3) with normals n there, at barycentric weights (m, k, 3) [Vlachos 2001].

    sharp  (m, 3) edges that begin and end along their own tangents `along` (m, 3, 3), straight where these are zero
    """
    inner = []
    for i, j, edge in ((0, 1, 0), (1, 0, 0), (1, 2, 1), (2, 1, 1), (2, 0, 2), (0, 2, 2)):
        d, t = x[:, j] - x[:, i], along[:, i]
        across = np.sum(d * n[:, i], axis=1, keepdims=True) * n[:, i]
        bent = np.where(np.any(t != 0.0, axis=1, keepdims=True), np.sum(d * t, axis=1, keepdims=True) * t, d)
        inner.append(x[:, i] + np.where(sharp[:, edge, None], bent, d - across) / 3.0)
    middle = sum(inner) / 4.0 - x.mean(axis=1) / 2.0
    a, b, c = np.moveaxis(weights, 2, 0)
    shape = np.stack(
        [a**3, b**3, c**3, 3 * a * a * b, 3 * a * b * b, 3 * b * b * c, 3 * b * c * c, 3 * c * c * a, 3 * c * a * a, 6 * a * b * c]
    )
    return np.einsum("smk,msi->mki", shape, np.stack([x[:, 0], x[:, 1], x[:, 2], *inner, middle], axis=1))


def blended(x: Floats, fits: Fits, corner: Ints, weights: Floats) -> Floats:
    """(m, k, 3) [m] means of the polynomials of the three corners, with the squares of the barycentric weights."""
    flat = np.einsum("mkc,mci->mki", weights, x)
    share = weights**2 / np.sum(weights**2, axis=2, keepdims=True)
    out = np.zeros_like(flat)
    for c in range(3):
        at = corner[:, c]
        d = flat - x[:, None, c]
        u, v, n = fits.axes[at, 0], fits.axes[at, 1], fits.axes[at, 2]
        p, q = np.einsum("mki,mi->mk", d, u), np.einsum("mki,mi->mk", d, v)
        terms = np.stack([p ** (t - r) * q**r for t, r in TERMS], axis=2)
        z = np.einsum("mkt,mt->mk", terms, fits.slope[at])
        foot = x[:, None, c] + p[..., None] * u[:, None] + q[..., None] * v[:, None] + z[..., None] * n[:, None]
        out += share[..., c, None] * foot
    return out


@dataclass(frozen=True)
class Fits:
    """Polynomials z(x, y) through points."""

    axes: Floats  # (n, 3, 3) rows: x, y and z
    slope: Floats  # (n, 9) of the terms TERMS
    normal: Floats  # (n, 3) at the points


def lattice(parts: int) -> tuple[Floats, Ints]:
    """Barycentric weights (k, 3) of a triangle whose edges are cut into so many parts, and the pieces (parts², 3)."""
    i, j = np.divmod(np.arange((parts + 1) ** 2), parts + 1)
    inside = i + j <= parts
    place = np.cumsum(inside) - 1
    weights = np.stack([parts - i - j, i, j], axis=1)[inside] / parts
    right = lambda a, b: place[a * (parts + 1) + b]
    up = inside & (i + j < parts)
    down = inside & (i + j < parts - 1)
    one = np.stack([right(i[up], j[up]), right(i[up] + 1, j[up]), right(i[up], j[up] + 1)], axis=1)
    two = np.stack([right(i[down] + 1, j[down]), right(i[down] + 1, j[down] + 1), right(i[down], j[down] + 1)], axis=1)
    return weights, np.concatenate([one, two])


def nearest_of(points: Floats, chosen: Ints, near: csr_array) -> tuple[Bools, Floats]:
    """The nearest of the neighbours of some points, MOST at most: which places are taken, (n, MOST), and ways to them [m], (n, MOST, 3).

    near  rows of neighbours, themselves among them
    """
    row = np.repeat(np.arange(len(chosen)), np.diff(near.indptr))
    other = near.indices != chosen[row]
    row, to = row[other], near.indices[other]
    far = np.linalg.norm(points[to] - points[chosen[row]], axis=1)
    order = np.lexsort((to, far, row))
    row, to = row[order], to[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(len(chosen)))[row]
    row, to, place = row[place < MOST], to[place < MOST], place[place < MOST]
    used, d = np.zeros((len(chosen), MOST), bool), np.zeros((len(chosen), MOST, 3))
    used[row, place], d[row, place] = True, points[to] - points[chosen[row]]
    return used, d


def fitted(points: Floats, chosen: Ints, near: csr_array, mean: Floats, most: Floats) -> Fits:
    """Polynomials through some points, least squares at their neighbours; planes across `mean` where there are too few.

    near  rows of neighbours, themselves among them
    most  (n,) slope against `mean` beyond which a fit is none: neighbours in a line determine no plane
    """
    used, d = nearest_of(points, chosen, near)
    axes = np.stack([*_across(mean), mean], axis=1)
    x, y, z = np.einsum("nki,nci->cnk", d, axes)
    count = used.sum(axis=1)
    size = np.sqrt(np.sum(x**2 + y**2, axis=1) / np.maximum(count, 1)) + 1e-300
    x, y = x / size[:, None], y / size[:, None]
    weight = np.where(used, np.exp(-(x**2 + y**2)), 0.0)
    slope, normal = np.zeros((len(chosen), len(TERMS))), mean.copy()
    for can, number in ((count >= CUBIC, 9), ((count >= QUADRATIC) & (count < CUBIC), 5)):
        if can.any():
            M = np.stack([x[can] ** (t - r) * y[can] ** r for t, r in TERMS[:number]], axis=2)
            matrix = np.einsum("nki,nk,nkj->nij", M, weight[can], M)
            matrix += (RIDGE * np.trace(matrix, axis1=1, axis2=2))[:, None, None] * np.eye(number)
            found = np.linalg.solve(matrix, np.einsum("nki,nk,nk->ni", M, weight[can], z[can])[..., None])[..., 0]
            found = found / size[can, None] ** np.array([t for t, _ in TERMS[:number]])
            sane = np.hypot(found[:, 0], found[:, 1]) <= most[can]
            slope[np.flatnonzero(can)[sane], :number] = found[sane]
    normal -= slope[:, :1] * axes[:, 0] + slope[:, 1:2] * axes[:, 1]
    return Fits(axes, slope, normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300))


def _across(n: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors across each of n."""
    u = np.cross(n, np.eye(3)[np.argmin(np.abs(n), axis=1)])
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    return u, np.cross(n, u)
