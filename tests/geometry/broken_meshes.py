"""Meshes as people have them: random solids, damaged at random, written in a random format. `made(seed)` gives the same one every time."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.geometry.mass import mass_of_surface
from pliant.geometry.mesh import Surface
from pliant.geometry.shapes import make

Rng = np.random.Generator


@dataclass
class Broken:
    """Points and faces of a file, and what is known about the solid it stands for."""

    points: np.ndarray
    faces: np.ndarray
    volume: float  # [m^3] of the solid before it was damaged
    off: float = 1e-3  # how far, as a part of that, the damage may move the volume
    loose: int = 0  # how many of the last faces belong to no solid
    scatter: float = 0.0  # [m] how far corners of neighbours that should be one lie apart
    what: list[str] = field(default_factory=list)

    @property
    def size(self) -> float:
        return float(np.ptp(self.points[np.unique(self.faces)], axis=0).max())


def solid(rng: Rng) -> Broken:
    """One of several forms of about 0.1 m: round, flat, long, with a hole through it, with spikes."""
    kind = str(rng.choice(["ball", "box", "torus", "capsule", "wedge", "star", "bunny"]))
    a, b, c = 0.05 + 0.1 * rng.random(3)
    if kind == "star":
        ball = make("ball", radius=0.1, edge=0.03).surface()
        waves = rng.standard_normal((3, 3))
        far = 1.0 + 0.15 * np.sin(30.0 * ball.points @ waves.T).sum(axis=1, keepdims=True)
        surface = Surface(ball.points * far, ball.faces)
    else:
        given = {
            "ball": {"radius": a, "edge": a / rng.uniform(2, 6)}, "box": {"size": (a, b, c), "edge": rng.uniform(0.02, 0.2)},
            "torus": {"major": 0.1, "minor": 0.3 * a, "edge": 0.02}, "capsule": {"radius": 0.4 * a, "length": b, "edge": 0.015},
            "wedge": {"size": (a, b, c), "edge": 0.03}, "bunny": {"edge": 0.012},
        }[kind]  # fmt: skip
        surface = make(kind, **given).surface()
    surface = surface.moved(np.zeros(3), Rotation.random(rng=rng).as_matrix())
    return Broken(surface.points, surface.faces, mass_of_surface(surface).volume, what=[kind])


# ---- damages: each changes what it is given


def holes(of: Broken, rng: Rng) -> None:
    """Up to two patches of faces are missing, each a few percent of all."""
    middle = of.points[of.faces].mean(axis=1)
    keep = np.ones(len(of.faces), bool)
    for _ in range(int(rng.integers(1, 3))):
        away = np.linalg.norm(middle - middle[rng.integers(len(middle))], axis=1)
        keep[np.argsort(away)[: max(1, len(away) // 50)]] = False
    of.faces, of.off = of.faces[keep], of.off + 0.1


def soup(of: Broken, rng: Rng) -> None:
    """Every triangle has its own vertices, as in STL."""
    of.points, of.faces = of.points[of.faces].reshape(-1, 3), np.arange(3 * len(of.faces)).reshape(-1, 3)


def flipped(of: Broken, rng: Rng) -> None:
    """Some faces look inwards."""
    turned = rng.random(len(of.faces)) < rng.uniform(0.05, 0.5)
    of.faces = np.where(turned[:, None], of.faces[:, [0, 2, 1]], of.faces)


def inside_out(of: Broken, rng: Rng) -> None:
    of.faces = of.faces[:, [0, 2, 1]]


def repeated(of: Broken, rng: Rng) -> None:
    """Faces twice, collapsed faces, vertices that nothing uses."""
    twice = of.faces[rng.integers(len(of.faces), size=5)]
    flat = of.faces[rng.integers(len(of.faces), size=3)][:, [0, 1, 1]]
    unused = of.points.mean(axis=0) + 0.01 * rng.standard_normal((4, 3))
    of.faces = rng.permutation(np.concatenate([of.faces, twice, flat]))
    of.points = np.concatenate([of.points, unused])


def needles(of: Broken, rng: Rng) -> None:
    """Faces without area: edges of some faces have a vertex upon them that the neighbour does not know, and a sliver between."""
    chosen = rng.choice(len(of.faces), size=min(5, len(of.faces)), replace=False)
    a, b, c = of.faces[chosen].T
    new = len(of.points) + np.arange(len(chosen))
    of.points = np.concatenate([of.points, 0.5 * (of.points[a] + of.points[b])])
    rest = np.delete(of.faces, chosen, axis=0)
    cut = [np.stack(part, axis=1) for part in ((a, new, c), (new, b, c), (a, b, new))]
    of.faces = np.concatenate([rest, *cut])


def noisy(of: Broken, rng: Rng) -> None:
    """Vertices as far off as a scanner leaves them, a thousandth of the size."""
    noise = 1e-3 * of.size
    of.points, of.off = of.points + noise * rng.standard_normal(of.points.shape), of.off + 0.02
    of.scatter = 4.0 * noise if "soup" in of.what else 0.0


def fin(of: Broken, rng: Rng) -> None:
    """A face that stands on an edge: three faces there."""
    f = of.faces[rng.integers(len(of.faces))]
    tip = of.points[f].mean(axis=0) * 1.02 + 0.02 * of.size * rng.standard_normal(3)
    of.points, of.faces = np.concatenate([of.points, [tip]]), np.concatenate([of.faces, [[f[0], f[1], len(of.points)]]])
    of.loose += 1


def crumbs(of: Broken, rng: Rng) -> None:
    """Loose triangles beside the body."""
    x = of.points.mean(axis=0) + of.size * (rng.random((3, 1, 3)) - 0.5) * 1.5 + 0.01 * of.size * rng.standard_normal((3, 3, 3))
    n = len(of.points)
    of.points, of.faces = np.concatenate([of.points, x.reshape(-1, 3)]), np.concatenate([of.faces, n + np.arange(9).reshape(3, 3)])
    of.loose += 3


def pair(of: Broken, rng: Rng) -> None:
    """A second body beside it."""
    _joined(of, solid(rng), np.array([of.size + 0.3, 0.01, 0.02]))


def close_pair(of: Broken, rng: Rng) -> None:
    """Itself once more, in a copy that is nearer than a cell, box beside box."""
    shift = np.zeros(3)
    shift[0] = np.ptp(of.points[:, 0]) * (1.0 + 10.0 ** rng.uniform(-4, -2))
    _joined(of, Broken(of.points.copy(), of.faces.copy(), of.volume), shift)


def hollow(of: Broken, rng: Rng) -> None:
    """A shell inside the shell that looks the other way: a cavity."""
    centre = mass_of_surface(Surface(of.points, of.faces)).centre
    scale = rng.uniform(0.1, 0.3)
    if of.what[0] in ("torus", "bunny"):  # their middle is not inside
        return
    _joined(of, Broken(centre + scale * (of.points - centre), of.faces[:, [0, 2, 1]], -of.volume * scale**3), np.zeros(3))


def overlapping(of: Broken, rng: Rng) -> None:
    """A ball that sits half in it, as from a program that only puts parts together; what they share counts once."""
    ball = make("ball", radius=0.1 * of.size, edge=0.05 * of.size).surface()
    at = of.points[rng.integers(len(of.points))]
    volume = mass_of_surface(ball).volume
    _joined(of, Broken(ball.points, ball.faces, 0.5 * volume), at)
    of.off += 0.6 * volume / of.volume


def _joined(of: Broken, other: Broken, shift: np.ndarray) -> None:
    of.faces = np.concatenate([of.faces, other.faces + len(of.points)])
    of.points = np.concatenate([of.points, other.points + shift])
    of.volume += other.volume


WHOLE: list[Callable[[Broken, Rng], None]] = [pair, close_pair, hollow, overlapping]  # of solids, so they come first
DAMAGE: list[Callable[[Broken, Rng], None]] = [holes, soup, flipped, inside_out, repeated, needles, noisy, fin, crumbs]


def made(seed: int) -> Broken:
    """A solid, perhaps one more, with up to three damages, in some unit and at some place."""
    rng = np.random.default_rng(seed)
    out = solid(rng)
    chosen = [WHOLE[k] for k in rng.permutation(len(WHOLE))[: int(rng.integers(0, 2))]]
    chosen += [DAMAGE[k] for k in sorted(rng.permutation(len(DAMAGE))[: int(rng.integers(1, 4))])]
    for damage in chosen:
        damage(out, rng)
        out.what.append(damage.__name__)
    scale, far = 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-1, 2)
    out.points = scale * (out.points + far * rng.standard_normal(3))
    out.volume, out.scatter = out.volume * scale**3, out.scatter * scale
    return out


# ---- files


def obj(of: Broken) -> bytes:
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in of.points.tolist()] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in of.faces.tolist()]
    return "\n".join(rows).encode()


def off(of: Broken) -> bytes:
    rows = [f"{x!r} {y!r} {z!r}" for x, y, z in of.points.tolist()] + [f"3 {a} {b} {c}" for a, b, c in of.faces.tolist()]
    return "\r\n".join(["OFF", f"{len(of.points)} {len(of.faces)} 0", *rows]).encode()


def ply(of: Broken) -> bytes:
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(of.points)}\nproperty double x\nproperty double y\nproperty double z\n"
    head += f"element face {len(of.faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    face = np.zeros(len(of.faces), np.dtype([("n", "u1"), ("v", "<i4", 3)]))
    face["n"], face["v"] = 3, of.faces
    return head.encode() + of.points.astype("<f8").tobytes() + face.tobytes()


def stl(of: Broken) -> bytes:
    """Numbers of four bytes, so what is far from the origin is rounded."""
    facet = np.zeros(len(of.faces), np.dtype([("n", "<f4", 3), ("x", "<f4", (3, 3)), ("a", "<u2")]))
    facet["x"] = of.points[of.faces]
    return b"made at random".ljust(80) + struct.pack("<I", len(facet)) + facet.tobytes()


FILES = {".obj": obj, ".off": off, ".ply": ply, ".stl": stl}
