"""What the scenes of surfaces with springs between all vertices share: their material, shapes from files, and how they deform.

[Motheram, Tribble] give neither sizes nor speeds nor time steps. Here bodies are some two metres large, have 1 kg per vertex (mass 1 is
all that is said), meet at 5 to 15 m/s and take steps of 2 ms, a seventh of what their stiffness allows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.base import Floats, Ints
from pliant.geometry.mass import vertex_areas
from pliant.geometry.shapes import resolve
from pliant.scene import Scene
from pliant.simulate.simulation import Simulation


def surface(kind: str, file: str, extent: float, **made: Any) -> dict[str, Any]:
    """A shape by code, or the user's surface of this size [m] if a file is named."""
    return {"file": file, "size": extent} if file else {"kind": kind, **made}


def body(stiffness: float, damping: float = 1.0, mass: float = 1.0, integrator: str = "cooper-verner") -> dict[str, Any]:
    """Fields of a body with springs [N/m] between all vertices, mass [kg] per vertex, and damping [N s/m] adapted to forces of 10 N/kg."""
    adaptive = {"vertex_damping": damping, "adaptive_force": 10.0 * mass, "adaptive_cap": 10.0} if damping else {}
    return {
        "model": "springs", "network": "all-pairs", "integrator": integrator,
        "material": {"spring_stiffness": stiffness, "vertex_mass": mass, **adaptive},
    }  # fmt: skip


def contact(response: str, backtracking: bool = True) -> dict[str, Any]:
    """The method with the published restitution and tree."""
    return {"method": "reversal", "response": response, "backtracking": backtracking, "split": "centre", "depth": 12}


@dataclass
class Deformed:
    """How far a body is from its shape at rest, moved and turned to fit best."""

    rms: float = 0.0  # [m] root of the mean square of the displacements, by area
    largest: float = 0.0  # [m]
    dent: float = 0.0  # [m] mean displacement inwards of the vertices that have touched so far, when it is largest
    shift: float = 0.0  # [m] root mean square of their displacement along the surface at that moment


class Watch:
    """Follows a simulation and keeps the largest deformation of each body."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.names = [n for n, kind in zip(sim.world.model.bodies.names, sim.world.model.bodies.kind, strict=True) if kind == "springs"]
        self.rest = {n: sim.points(n) for n in self.names}
        self.area = {n: vertex_areas(self.rest[n], sim.faces(n)) for n in self.names}
        self.peak = {n: Deformed() for n in self.names}
        self.normal = {n: vertex_normals(self.rest[n], sim.faces(n)) for n in self.names}
        self.touched = {n: np.zeros(len(self.rest[n]), bool) for n in self.names}
        self.dents: dict[str, list[tuple[float, float]]] = {n: [] for n in self.names}  # dent and shift [m] after each step with some

    def look(self) -> None:
        """After every step."""
        contacts, model = self.sim.contacts(), self.sim.world.model
        for name in self.names:
            i = self.sim.index(name)
            self.touched[name][contacts.feature_a[contacts.a == i] - model.bodies.point_start[i]] = True
            self._keep(name)

    def _keep(self, name: str) -> None:
        u = displacements(self.rest[name], self.sim.points(name), self.area[name])
        area, peak, mine = self.area[name], self.peak[name], self.touched[name]
        peak.rms = max(peak.rms, float(np.sqrt(area @ np.sum(u * u, axis=1) / area.sum())))
        peak.largest = max(peak.largest, float(np.linalg.norm(u, axis=1).max()))
        if mine.any():
            inwards = -np.einsum("ni,ni->n", u[mine], self.normal[name][mine])
            along = u[mine] + inwards[:, None] * self.normal[name][mine]
            dent, shift = float(inwards.mean()), float(np.sqrt(np.mean(np.sum(along**2, axis=1))))
            self.dents[name].append((dent, shift))
            if dent > peak.dent:
                peak.dent, peak.shift = dent, shift

    def slant(self, name: str, depth: float) -> float:
        """Way of the vertices that touched along the surface over their way inwards, when that is first as large as `depth` [m]."""
        dent, shift = next((d, s) for d, s in self.dents[name] if d >= depth)
        return shift / dent


def vertex_normals(points: Floats, faces: Ints) -> Floats:
    """Unit normals of vertices, by the area of the faces around them, (n, 3)."""
    normal = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
    out = np.stack([np.bincount(faces.ravel(), np.repeat(normal[:, k], 3), len(points)) for k in range(3)], axis=1)
    return out / np.linalg.norm(out, axis=1)[:, None]


def displacements(rest: Floats, now: Floats, weight: Floats) -> Floats:
    """Of each point from its place at rest, after the rigid motion that fits best, in the frame of rest (Kabsch), (n, 3)."""
    share = weight[:, None] / weight.sum()
    a, b = rest - (share * rest).sum(axis=0), now - (share * now).sum(axis=0)
    u, _, vt = np.linalg.svd((share * a).T @ b)
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    return b @ turn.T - a


def watched(scene: Scene) -> Watch:
    """The scene run anew from its start to its end, watched."""
    sim = Simulation(scene)
    watch = Watch(sim)
    sim.run(each=lambda report: watch.look())
    return watch


def check(sim: Simulation) -> Watch:
    """Bodies part as they should in the end, have met on the way, and have about their shape again; the run that tells, watched."""
    names = [b.name for b in sim.scene.bodies]
    velocity = {n: sim.state.v[sim.nodes(n)].mean(axis=0) for n in names}
    middle = {n: sim.points(n).mean(axis=0) for n in names}
    for a, b in itertools.combinations(names, 2):
        assert (velocity[a] - velocity[b]) @ (middle[a] - middle[b]) > 0.0, f"{a} and {b} do not part"
    watch = watched(sim.scene)
    assert all(t.any() for t in watch.touched.values()), "some bodies did not touch"
    for name in names:
        left = displacements(watch.rest[name], sim.points(name), watch.area[name])
        size = float(np.ptp(watch.rest[name], axis=0).max())
        assert np.linalg.norm(left, axis=1).max() < 0.25 * size, f"{name} has lost its shape"
    return watch


def two_spheres(
    stiffness: float = 40.0, speed: float = 5.0, damping: float = 1.0, response: str = "normal", edge: float = 0.125,
    integrator: str = "cooper-verner", file: str = "", dt: float = 0.001, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """Two equal spheres of different triangulation collide and dent alike.

    stiffness [N/m] of each spring and 1 kg per vertex of the finer sphere; speed [m/s] of each; file: a surface for both.

    The coarser sphere has fewer vertices, so each is heavier and each spring stiffer: both weigh the same and are equally stiff.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="Equal bodies dent equally.")
    shapes = [surface("ball", file, 2.0, radius=1.0, edge=e) for e in (edge, 1.25 * edge)]
    counts = [len(resolve(dict(s), False).surface().points) for s in shapes]
    for name, shape, count, side in zip(("fine", "coarse"), shapes, counts, (-1, 1), strict=True):
        finer = counts[0] / count
        scene.add(
            name=name, shape=shape, position=(1.2 * side, 0, 0), rotation=(0, 0, 37.0 * side), velocity=(-speed * side, 0, 0),
            **body(stiffness * finer**2, damping * finer, finer, integrator),
        )  # fmt: skip
    return scene


def expect_two_spheres(sim: Simulation) -> list[str]:
    """Both are deformed by the same amount, within 3 %, and part as fast as each other."""
    watch = check(sim)
    fine, coarse = (watch.peak[n] for n in ("fine", "coarse"))
    ratio = coarse.rms / fine.rms
    assert abs(ratio - 1) < 0.03, f"the coarse sphere is deformed {ratio:.3f} times as much as the fine one"
    return [
        f"At most the fine sphere is {1000 * fine.rms:.1f} mm and the coarse one {1000 * coarse.rms:.1f} mm from its shape "
        f"(rms), a ratio of {ratio:.3f}.",
        f"The dents are {1000 * fine.dent:.0f} mm and {1000 * coarse.dent:.0f} mm deep.",
    ]


def soft_meets_hard(
    soft: float = 5.0, hard: float = 100.0, speed: float = 1.5, damping: float = 1.0, response: str = "normal", edge: float = 0.26,
    integrator: str = "cooper-verner", dt: float = 0.004, duration: float = 0.8,
) -> Scene:  # fmt: skip
    """A large soft sphere and a small hard one collide: the soft one takes the deformation.

    soft, hard [N/m]: stiffness of each spring of the large and of the small sphere; speed [m/s] of each.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="The softer body gives way.")
    large = surface("ball", "", 3.0, radius=1.5, edge=edge)
    small = surface("ball", "", 1.4, radius=0.7, edge=0.5 * edge)
    scene.add(name="soft", shape=large, position=(-1.7, 0, 0), velocity=(speed, 0, 0), **body(soft, damping, integrator=integrator))
    scene.add(name="hard", shape=small, position=(0.9, 0, 0), velocity=(-speed, 0, 0), **body(hard, damping, integrator=integrator))
    return scene


def expect_soft_meets_hard(sim: Simulation) -> list[str]:
    """More than nine tenths of the deformation are the soft one's."""
    watch = check(sim)
    soft, hard = (watch.peak[n] for n in ("soft", "hard"))
    share = soft.rms / (soft.rms + hard.rms)
    assert share > 0.9, f"the soft sphere takes only {100 * share:.0f} % of the deformation"
    return [
        f"At most the soft sphere is {1000 * soft.rms:.1f} mm and the hard one {1000 * hard.rms:.2f} mm from its shape (rms): "
        f"the soft one takes {100 * share:.1f} %.",
        f"The dents are {1000 * soft.dent:.0f} mm and {1000 * hard.dent:.1f} mm deep.",
    ]


def sphere_and_bunny(
    stiffness: float = 40.0, speed: float = 3.0, damping: float = 1.0, response: str = "normal", edge: float = 0.16,
    integrator: str = "cooper-verner", file: str = "", dt: float = 0.002, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """A sphere runs into the tail of a bunny of the same stiffness.

    stiffness [N/m] of each spring; speed [m/s] of each; file: a surface to be the bunny.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="A sphere is dented, a tail is pressed in.")
    ball, bunny = surface("ball", "", 2.0, radius=1.0, edge=edge), surface("bunny", file, 2.0, height=2.0)
    soft = body(stiffness, damping, integrator=integrator)
    scene.add(name="sphere", shape=ball, position=(-2.1, 0, 0.5), velocity=(speed, 0, 0), **soft)
    scene.add(name="bunny", shape=bunny, position=(0, 0, 0), velocity=(-speed, 0, 0), **soft)
    return scene


def expect_sphere_and_bunny(sim: Simulation) -> list[str]:
    """The sphere is dented inwards, and so is the bunny where it was hit."""
    watch = check(sim)
    sphere, bunny = (watch.peak[n] for n in ("sphere", "bunny"))
    assert sphere.dent > 0.01 and bunny.dent > 0.002, f"dents of {sphere.dent:.4f} m and {bunny.dent:.4f} m cannot be seen"
    return [f"The sphere is dented by {1000 * sphere.dent:.0f} mm, the bunny by {1000 * bunny.dent:.0f} mm, on average where they touched."]


def bunny_and_teapot(
    bunny: float = 40.0, teapot: float = 10.0, speed: float = 2.0, sideways: float = 0.0, damping: float = 1.0, response: str = "normal",
    integrator: str = "cooper-verner", bunny_file: str = "", teapot_file: str = "", dt: float = 0.002, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """A bunny runs into a softer teapot, which gives way; how far its vertices are carried sideways depends on the response.

    bunny, teapot [N/m]: stiffness of each spring; speed [m/s] of each, sideways [m/s] of the bunny; files: surfaces to be the two.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="The softer teapot deforms more.")
    small, pot = surface("bunny", bunny_file, 1.6, height=1.6), surface("teapot", teapot_file, 3.0, size=3.0)
    scene.add(
        name="bunny", shape=small, position=(0.25, -1.65, 0.0), rotation=(0, 0, 90), velocity=(sideways, speed, 0),
        **body(bunny, damping, integrator=integrator),
    )  # fmt: skip
    scene.add(name="teapot", shape=pot, velocity=(0, -speed, 0), **body(teapot, damping, integrator=integrator))
    return scene


def slants(scene: Scene) -> dict[tuple[str, float], dict[str, float]]:
    """Way of the vertices that touched along the surface (rms) over their way inwards (mean), of each body.

    By response, `invert` and `normal`, and sideways speed of the bunny [m/s], 0 (head-on) and 1. Both responses are compared at
    the same depth, half of the smaller one of their deepest dents: a dent that grows on takes in vertices that face elsewhere.
    """
    method = scene.contact
    assert isinstance(method, dict)
    bunny, teapot = scene.bodies
    out: dict[tuple[str, float], dict[str, float]] = {}
    for sideways in (0.0, 1.0):
        moving = bunny.model_copy(update={"velocity": (sideways, bunny.velocity[1], 0.0)})
        runs = {r: watched(scene.copy_with(contact={**method, "response": r}, bodies=[moving, teapot])) for r in ("invert", "normal")}
        depth = {name: 0.5 * min(run.peak[name].dent for run in runs.values()) for name in (bunny.name, teapot.name)}
        out |= {(r, sideways): {name: run.slant(name, d) for name, d in depth.items()} for r, run in runs.items()}
    return out


def expect_bunny_and_teapot(sim: Simulation) -> list[str]:
    """The teapot deforms more than the bunny; vertices of both go sideways less if reflected along the normal than inverted."""
    peak = check(sim).peak
    assert peak["teapot"].rms > peak["bunny"].rms, "the teapot should deform more"
    slant = slants(sim.scene)
    for sideways in (0.0, 1.0):
        for name in peak:
            assert slant["normal", sideways][name] < slant["invert", sideways][name], f"way sideways over way inwards: {slant}"
    how = {"invert": "inverted", "normal": "reflected", 0.0: "head-on", 1.0: "sideways"}
    told = "; ".join(f"{how[r]}, {how[s]}: bunny {v['bunny']:.2f}, teapot {v['teapot']:.2f}" for (r, s), v in slant.items())
    return [
        f"At most the bunny is {1000 * peak['bunny'].rms:.1f} mm and the teapot {1000 * peak['teapot'].rms:.1f} mm from its shape (rms).",
        f"At dents of the same depth, vertices are carried along the surface by this share of the way inwards: {told}.",
    ]


def three_spheres(
    stiffness: float = 40.0, speed: float = 2.0, top_speed: float = 10.0, damping: float = 1.0, response: str = "normal",
    fineness: float = 0.16, integrator: str = "cooper-verner", dt: float = 0.002, duration: float = 0.4,
) -> Scene:  # fmt: skip
    """A fast sphere falls between two slow ones of other sizes.

    stiffness [N/m] of each spring; speeds [m/s] of the two lower spheres and of the top one; fineness: edge over radius.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response), about="Three bodies meet.")
    soft = body(stiffness, damping, integrator=integrator)
    for name, radius, position, velocity in (
        ("left", 0.8, (-1.0, 0, 0), (speed, 0, 0)),
        ("right", 1.1, (1.3, 0, 0.1), (-speed, 0, 0)),
        ("top", 0.6, (-0.1, 0, 2.2), (0, 0, -top_speed)),
    ):
        ball = surface("ball", "", 2 * radius, radius=radius, edge=fineness * radius)
        scene.add(name=name, shape=ball, position=position, velocity=velocity, **soft)
    return scene


def expect_three_spheres(sim: Simulation) -> list[str]:
    """All three touch and are dented, the fast one most for its size."""
    watch = check(sim)
    assert min(p.largest for p in watch.peak.values()) > 0.02, "a sphere is not dented"
    sizes = {n: len(sim.faces(n)) for n in watch.names}
    return [
        "Largest displacement: " + ", ".join(f"{n} {1000 * p.largest:.0f} mm" for n, p in watch.peak.items()) + ".",
        "Triangles: " + ", ".join(f"{n} {c}" for n, c in sizes.items()) + ".",
    ]


def two_bunnies(
    damping: float = 1.0, backtracking: bool = True, unsafe: bool = False, stiffness: float = 40.0, speed: float = 5.0,
    response: str = "normal", integrator: str = "cooper-verner", file: str = "", dt: float = 0.002, duration: float = 0.3,
) -> Scene:  # fmt: skip
    """Two bunnies collide, with no damping, some, or far too much; set back after the collision or not.

    damping c [N s/m] of the published adaptive law: 0, 1 or 2000 there. speed [m/s] of each.

    A vertex of 1 kg fades by up to 10 c per second, so c = 2000 needs steps below 3.7 / (10 c) = 0.19 ms. Steps are divided until they
    are short enough, and the reason is told; with unsafe = true they are not, and the bunnies explode as in Fig. 3.
    """
    scene = Scene(dt=dt, duration=duration, gravity=(0, 0, 0), contact=contact(response, backtracking), about="What damping is for.")
    shape = surface("bunny", file, 2.0, height=2.0)
    soft = body(stiffness, damping, integrator=integrator)
    scene.add(name="one", shape=shape, position=(-1.0, 0, 0), velocity=(speed, 0, 0), unsafe=unsafe, **soft)
    scene.add(
        name="other", shape=shape, position=(1.0, 0.15, 0), rotation=(0, 0, 180), velocity=(-speed, 0, 0), unsafe=unsafe, **soft
    )
    return scene


def expect_two_bunnies(sim: Simulation) -> list[str]:
    """They bounce off each other and find their shape again."""
    watch = check(sim)
    said = [f"The bunnies are at most {1000 * p.rms:.1f} mm from their shape (rms)." for p in (watch.peak["one"],)]
    return said + [note if note.endswith(".") else note + "." for note in sim.notes if "damping" in note]
