"""Points inside bodies: the same set as a double loop over all points and all bodies, with the winding number as judge."""

import numpy as np
import pytest

from pliant import Scene
from pliant.detect.penetration import Penetration
from pliant.detect.shapes import signed_distance
from pliant.geometry.quaternions import quaternion_to_matrix
from pliant.geometry.triangle import closest_on_triangle


def crowd(seed):
    """Soft, rigid and static bodies of many shapes, thrown into each other."""
    rng = np.random.default_rng(seed)
    scene = Scene(gravity=(0, 0, 0), dt=1e-6)
    scene.add(name="plane", shape="plane", model="static", rotation=tuple(rng.uniform(-20, 20, 3)), position=(0, 0, -0.12))
    kinds = [
        (dict(kind="box", size=(0.3, 0.2, 0.2), edge=0.1), "fem"), (dict(kind="ball", radius=0.15, edge=0.08), "fem"),
        (dict(kind="torus", major=0.15, minor=0.06, edge=0.08), "springs"), (dict(kind="box", size=(0.2, 0.2, 0.3), edge=0.1), "rigid"),
        (dict(kind="wedge", size=(0.3, 0.2, 0.2), edge=0.1), "rigid"), (dict(kind="cylinder", radius=0.1, height=0.3, edge=0.08), "rigid"),
        (dict(kind="bowl", radius=0.15, thickness=0.04, edge=0.06), "static"), (dict(kind="capsule", radius=0.08, length=0.2, edge=0.08), "static"),
    ]  # fmt: skip
    for shape, model in kinds:
        scene.add(shape=shape, model=model, position=tuple(rng.uniform(-0.15, 0.15, 3)), rotation=tuple(rng.uniform(-180, 180, 3)))
    scene.pair(scene.bodies[1].name, scene.bodies[2].name, contact=False)
    return scene


def found(motion, finder=None):
    finder = motion.kept(Penetration) if finder is None else finder
    return finder.find(finder.fit(motion.end, motion.shapes), motion.pairs.meet)


def t3(u):
    return float(u[0]), float(u[1]), float(u[2])


def winding(points, corners):
    """Solid angles of all faces about all points over 4 pi (Van Oosterom and Strackee 1983), (n,)."""
    r = corners[None] - points[:, None, None]
    a, b, c = r[:, :, 0], r[:, :, 1], r[:, :, 2]
    la, lb, lc = (np.linalg.norm(x, axis=2) for x in (a, b, c))
    top = np.einsum("nfi,nfi->nf", a, np.cross(b, c))
    bottom = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    return np.arctan2(top, bottom).sum(axis=1) / (2 * np.pi)


def brute_force(sim, motion):
    """{(point, body): gap} by looking at every surface point against every body."""
    bodies, points, skin = motion.bodies, motion.end, motion.skin
    found = {}
    for b in range(len(bodies)):
        faces = skin.faces[bodies.face_start[b] : bodies.face_start[b + 1]]
        for a in range(len(bodies)):
            if not motion.pairs.meet(np.array([a]), np.array([b]))[0]:
                continue
            mine = np.arange(bodies.point_start[a], bodies.point_start[a] + bodies.surface[a])
            if bodies.analytic[b] >= 0:
                f = bodies.frame[b]
                local = (points[mine] - motion.position[f]) @ quaternion_to_matrix(motion.rotation[f])
                for p, u in zip(mine, local, strict=True):
                    d = signed_distance(bodies.analytic[b], *bodies.parameters[b], t3(u))[0]
                    if d < 0:
                        found[int(p), b] = d
                continue
            corners = points[faces]
            for p in mine[winding(points[mine], corners) > 0.5]:
                distances = []
                for x, y, z in corners:
                    weights = closest_on_triangle(t3(points[p]), t3(x), t3(y), t3(z))
                    distances.append(np.linalg.norm(np.array(weights) @ np.array([x, y, z]) - points[p]))
                found[int(p), b] = -min(distances)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_hits_equal_brute_force(seed):
    sim = crowd(seed).simulate()
    motion = sim.world.free_motion(1e-6)
    hits = found(motion)
    wanted = brute_force(sim, motion)
    seen = {(int(p), int(b)): g for p, b, g in zip(hits.point, hits.b, hits.gap, strict=True)}
    assert len(seen) == len(hits) > 50  # no contact twice
    assert seen.keys() == wanted.keys()
    for key, gap in wanted.items():
        assert seen[key] == pytest.approx(gap, abs=1e-12)
    assert np.array_equal(hits.a, motion.skin.body[hits.point])
    assert np.linalg.norm(hits.normal, axis=1) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_going_out_along_the_normal_by_the_depth_ends_on_the_face(seed):
    sim = crowd(seed).simulate()
    motion = sim.world.free_motion(1e-6)
    hits = found(motion)
    on_faces = hits.face >= 0
    out = motion.end[hits.point] - hits.gap[:, None] * hits.normal
    corners = motion.end[motion.skin.faces[hits.face[on_faces]]]
    assert on_faces.sum() > 20
    assert np.einsum("hk,hki->hi", hits.weights[on_faces], corners) == pytest.approx(out[on_faces], abs=1e-12)


def test_order_is_fixed_and_kept_trees_do_not_matter():
    sim = crowd(1).simulate()
    motion = sim.world.free_motion(1e-6)
    first, finder = found(motion), Penetration(sim.world.rest)
    again = found(motion, finder)
    again = found(motion, finder)
    for name in ("point", "a", "b", "face", "weights", "normal", "gap"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert (np.diff(first.a) >= 0).all()


def test_excluded_and_immovable_pairs_are_not_looked_at():
    scene = crowd(2)
    sim = scene.simulate()
    motion = sim.world.free_motion(1e-6)
    hits = found(motion)
    pairs = set(zip(hits.a.tolist(), hits.b.tolist(), strict=True))
    assert not pairs & {(1, 2), (2, 1)}
    fixed = {i for i, b in enumerate(scene.bodies) if b.model == "static"}
    assert not any(a in fixed and b in fixed for a, b in pairs) and not any(a == b for a, b in pairs)
