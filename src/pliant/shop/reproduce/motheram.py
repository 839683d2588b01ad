"""Motheram, Tribble: Collision Detection and Deformation of Soft Bodies. Surfaces with springs, an AABB tree, velocities reversed.

The paper gives k, c = 1, e = 0.9, m = 1 and depth 12; sizes, speeds and time steps are ours (scenes/motheram.py). M1-M5 are sections 9.1 to
9.5, run as published (`response = "invert"`, Cooper and Verner's scheme), Fig1-Fig4 the figures about damping and overlap.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.detect.tree import Tree, centre_tree
from pliant.detect.triangle_overlap import every_pair, intersecting
from pliant.look import draw, from_simulation
from pliant.shop import scenes
from pliant.shop.reproduce import Experiment, Line
from pliant.shop.scenes.motheram import Watch, slants
from pliant.simulate.simulation import Simulation

OPEN = "sizes, speeds and dt are not given"


def _watched(name: str, folder: Path, label: str, at: tuple[float, ...] = (0.0, 0.35, 0.99), **values: Any) -> Watch:
    """A scene run as published (unless values say otherwise) and watched; pictures at parts of its duration."""
    scene = scenes.make(name, **{"response": "invert", **values})
    sim = Simulation(scene)
    watch = Watch(sim)
    for k, part in enumerate(at):
        sim.run(until=part * scene.duration, each=lambda report: watch.look())
        draw(from_simulation(sim), size=(640, 480)).save(folder / f"{label}-{k}.png")
    return watch


def spheres(folder: Path) -> list[Line]:
    """Two spheres of k = 40 collide: similar deformation. Here of different triangulation, with equal mass and stiffness."""
    lines = []
    for response in ("invert", "normal"):
        peak = _watched("two-spheres", folder, f"M1-{response}", response=response).peak
        ratio = peak["coarse"].rms / peak["fine"].rms
        what = f"M1 deformation of one sphere over the other ({response})"
        lines.append(Line(what, "similar", f"{ratio:.3f}", abs(ratio - 1) < 0.1, OPEN))
    return lines


def soft_and_hard(folder: Path) -> list[Line]:
    """A large sphere of k = 5 and a small one of k = 100: only the soft one deforms."""
    lines = []
    for response in ("invert", "normal"):
        peak = _watched("soft-meets-hard", folder, f"M2-{response}", response=response).peak
        share = 100 * peak["soft"].rms / (peak["soft"].rms + peak["hard"].rms)
        what = f"M2 share of the deformation that the soft sphere takes ({response})"
        why = "" if share > 80 else "inverting turns the vertices of the hard sphere round just as much; " + OPEN
        lines.append(Line(what, "substantial, the hard one minimal", f"{share:.1f} %", share > 80, why or OPEN))
    return lines


def sphere_and_bunny(folder: Path) -> list[Line]:
    """A sphere and a bunny of k = 40; the bunny is made by code."""
    peak = _watched("sphere-and-bunny", folder, "M3").peak
    dents = peak["sphere"].dent, peak["bunny"].dent
    here = f"sphere {1000 * dents[0]:.0f} mm, bunny {1000 * dents[1]:.0f} mm"
    return [Line("M3 dents", "sphere inwards, minor compression of the tail", here, dents[0] > dents[1] > 0, OPEN)]


def bunny_and_teapot(folder: Path) -> list[Line]:
    """A bunny of k = 40 and a teapot of k = 10: the teapot deforms more, and its vertices are shifted sideways, blamed on the inversion."""
    runs = {r: _watched("bunny-and-teapot", folder, f"M4-{r}", response=r).peak for r in ("invert", "normal")}
    ratio = {r: peak["teapot"].rms / peak["bunny"].rms for r, peak in runs.items()}
    here = f"{ratio['invert']:.1f} times (inverted), {ratio['normal']:.1f} times (reflected)"
    lines = [Line("M4 deformation of the teapot over the bunny's", "larger", here, min(ratio.values()) > 1, OPEN)]
    slant = slants(scenes.make("bunny-and-teapot", integrator="verlet"))
    for sideways, how in ((0.0, "head-on"), (1.0, "1 m/s sideways")):
        for name in ("bunny", "teapot"):
            turned, reflected = slant["invert", sideways][name], slant["normal", sideways][name]
            what = f"M4 way of contact vertices along the surface over inwards at the same depth, {name}, {how}"
            text = f"{turned:.2f} inverted, {reflected:.2f} reflected along the normal"
            lines.append(Line(what, "visible inverted, blamed on it", text, turned > 0.2 and reflected < turned, OPEN))
    return lines


def three_spheres(folder: Path) -> list[Line]:
    """Three spheres of more than 600 triangles, the top one fast, with the tree and without."""
    watch = _watched("three-spheres", folder, "M5")
    faces = min(len(watch.sim.faces(n)) for n in watch.names)
    dents = ", ".join(f"{n} {1000 * p.largest:.0f} mm" for n, p in watch.peak.items())
    all_deform = min(p.largest for p in watch.peak.values()) > 0.02
    return [
        Line("M5 triangles of each", "over 600", str(faces), faces > 600),
        Line("M5 largest displacements", "all deform, the top one unrealistically", dents, all_deform, OPEN),
        _tree_line(watch.sim),
    ]


def _tree_line(sim: Simulation) -> Line:
    """CPU time to find crossing triangles of the last state with the published tree and with every pair tested."""
    points, faces, start = sim.points(), sim.world.model.skin.faces, sim.world.model.bodies.face_start
    bodies = np.array([(0, 1), (0, 2), (1, 2)])
    middle = [sim.centre(n) * 0.8 for n in ("left", "right", "top")]  # pushed into each other
    points = points - np.repeat(middle, np.diff(sim.world.model.bodies.point_start), axis=0)
    tree = centre_tree(points, faces, start, 12)

    def look() -> None:
        tree.refit(points)
        intersecting(tree, points, bodies)

    def seconds(call: Any) -> float:
        call()
        begin = time.process_time()
        for _ in range(5):
            call()
        return (time.process_time() - begin) / 5

    slow = seconds(lambda: every_pair(points, faces, start, bodies))
    fast = seconds(look)
    here = f"{slow / fast:.0f} times slower"
    return Line("M5 detection without the tree over with it", "falls to 1 frame/s without", here, slow > 3 * fast)


def _bunnies(folder: Path, label: str, far: float = np.inf, **values: Any) -> tuple[Watch, str]:
    """Two bunnies run until the end, until a vertex is further than `far` [m] from its place, or until they are gone; and why it ended."""
    sim = Simulation(scenes.make("two-bunnies", response="invert", **values))
    watch = Watch(sim)
    try:
        with np.errstate(all="ignore"):
            while sim.time < sim.scene.duration - 1e-9 and max(p.largest for p in watch.peak.values()) < far:
                sim.step()
                watch.look()
        draw(from_simulation(sim), size=(640, 480)).save(folder / f"{label}.png")
        return watch, ""
    except (PliantError, np.linalg.LinAlgError) as error:
        return watch, str(error)


def _shaking(watch: Watch) -> float:
    """Of the vertices of a bunny about its mean velocity [m/s], rms."""
    v = watch.sim.state.v[watch.sim.nodes("one")]
    return float(np.sqrt(np.mean((v - v.mean(axis=0)) ** 2)))


def shortly_after(folder: Path) -> list[Line]:
    """Fig. 1: without damping, shortly after the bunnies have bounced off."""
    watch, gone = _bunnies(folder, "Fig1", damping=0.0, duration=0.35)
    sim = watch.sim
    one, other = (sim.state.v[sim.nodes(n)].mean(axis=0) for n in ("one", "other"))
    apart = sim.centre("other") - sim.centre("one")
    here = f"shaking at {_shaking(watch):.2f} m/s"
    return [Line("Fig1 0.35 s, no damping: parting", "bounced off, deformed", here, not gone and float((other - one) @ apart) > 0.0, OPEN)]


def long_after(folder: Path) -> list[Line]:
    """Fig. 2: long after. Theirs are unstable "due to solver inaccuracies"; ours are so only in steps beyond the stable one."""
    watch, calm = (_bunnies(folder, f"Fig2-c{c:g}", damping=c, duration=1.0)[0] for c in (0.0, 1.0))
    here = f"shaking at {_shaking(watch):.2f} m/s, with c = 1 at {_shaking(calm):.2f} m/s; in shape"
    why = "dt is not given, ours is a seventh of the stable one"
    long, _ = _bunnies(folder, "Fig2-unsafe", far=10.0, damping=0.0, unsafe=True, dt=0.03, duration=3.0)
    far = max(p.largest for p in long.peak.values())
    return [
        Line("Fig2 1 s, no damping", "unstable", here, False, why),
        Line("Fig2 the same, steps of 30 ms", "unstable", f"{far:.3g} m away after {long.sim.time:.2f} s", far > 10, "with unsafe = true"),
    ]


def explosion(folder: Path) -> list[Line]:
    """Fig. 3: c = 2000 throws vertices far away within a step; the step that the scheme allows is 3.7 m / (10 c) = 0.19 ms."""
    slow, _ = _bunnies(folder, "Fig3-unsafe", far=10.0, damping=2000.0, unsafe=True, dt=0.0004, duration=0.1)
    far = max(p.largest for p in slow.peak.values())
    _, gone = _bunnies(folder, "Fig3-gone", damping=2000.0, unsafe=True, duration=0.1)
    safe = scenes.make("two-bunnies", response="invert", damping=2000.0, duration=0.1).simulate()
    told = next((note for note in safe.notes if "divided" in note), "")
    published = "vertices far off-screen in one step"
    return [
        Line("Fig3 c = 2000, steps of 0.4 ms", published, f"{far:.3g} m away after {slow.sim.time:.4f} s", far > 10),
        Line("Fig3 c = 2000, steps of 2 ms", published, "not finite" if gone else "bounces", bool(gone)),
        Line("Fig3 the same, steps divided", "-", told or "not divided", bool(told), "what pliant does unless unsafe = true"),
    ]


def overlap(folder: Path) -> list[Line]:
    """Fig. 4: without setting vertices back the bunnies overlap; with it no triangles cross after any step."""
    crossing = {}
    for backtracking in (False, True):
        sim = Simulation(scenes.make("two-bunnies", response="invert", backtracking=backtracking, duration=0.12))
        faces, start = sim.world.model.skin.faces, sim.world.model.bodies.face_start
        most = 0
        while sim.time < sim.scene.duration - 1e-9:
            sim.step()
            most = max(most, len(intersecting(Tree.build(sim.points(), faces, start), sim.points(), np.array([[0, 1]]))))
        draw(from_simulation(sim), size=(640, 480)).save(folder / f"Fig4-{'with' if backtracking else 'without'}.png")
        crossing[backtracking] = most
    return [
        Line("Fig4 crossing triangles after a step, not set back", "overlap", str(crossing[False]), crossing[False] > 0),
        Line("Fig4 the same, set back", "none", str(crossing[True]), crossing[True] == 0),
    ]


EXPERIMENTS: dict[str, Experiment] = {
    "M1": spheres,
    "M2": soft_and_hard,
    "M3": sphere_and_bunny,
    "M4": bunny_and_teapot,
    "M5": three_spheres,
    "Fig1": shortly_after,
    "Fig2": long_after,
    "Fig3": explosion,
    "Fig4": overlap,
}
