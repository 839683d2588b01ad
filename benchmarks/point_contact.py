"""How fast `point-surface` is: python benchmarks/point_contact.py [busts] [many] [depth]

busts   Fig. 5 of Keiser et al.: two busts of 10 thousand surfels and 440 phyxels: time per step, in contact, over colliding surfels
many    3, 30 and 300 soft balls in a row: CPU time of contact per step and body
depth   two balls pushed into each other: evaluations on the way to the contact surface, and the gain of starting from the last samples

CPU time of one thread (PLIANT_THREADS=1).
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("PLIANT_THREADS", "1")

import numpy as np

from pliant import Scene
from pliant.contact.point_surface.colliding_surfels import Candidates, boxes, candidates, colliding, start_samples
from pliant.contact.point_surface.contact_surface import moved_to_contact
from pliant.contact.point_surface.implicit_surfaces import Surfaces
from pliant.detect.body_pairs import overlapping
from pliant.shop.reproduce.keiser import colliding_busts, curves, watched


def busts() -> None:
    scene = colliding_busts()
    _, costs = watched(scene)
    first, slope, together = costs.slope
    full = costs.hits > 0.8 * costs.hits.max()
    print(f"colliding surfels at most {int(costs.hits.max())}, depth at most {1000 * costs.depth.max():.1f} mm")
    print(f"step {1000 * np.median(costs.total[full]):.1f} ms, contact {1000 * np.median(costs.contact[full]):.1f} ms in full contact: "
          f"{1.0 / np.median(costs.contact[full]):.0f} contact steps/s")  # fmt: skip
    print(f"contact = {1000 * first:.2f} ms + {1e6 * slope:.2f} us per colliding surfel, correlation {together:.3f}")
    curves(costs, Path("point_contact.png"), scene.dt)


def many() -> None:
    print("balls | contact per step [ms] | per ball [ms]")
    for count in (3, 30, 300):
        scene = Scene(dt=5e-4, gravity=(0, 0, 0), contact={"method": "point-surface"})
        for i in range(count):
            scene.add(
                name=f"b{i}", shape={"kind": "ball", "radius": 0.1, "edge": 0.05}, model="fem", position=(0.19 * i, 0, 0),
                material={"youngs_modulus": 1e5, "mass_damping": 20.0},
            )  # fmt: skip
        sim = scene.simulate().run(until=2e-3)
        steps, spent = 10, 0.0
        for _ in range(steps):
            began = time.process_time()
            report = sim.step()
            spent += (time.process_time() - began) * report.timings["contact"] / sum(report.timings.values())
        print(f"{count:5d} | {1000 * spent / steps:.2f} | {1000 * spent / steps / count:.3f}")


def depth() -> None:
    i = np.arange(8000) + 0.5
    polar, azimuth = np.arccos(1.0 - 2.0 * i / 8000), np.pi * (1.0 + np.sqrt(5.0)) * i
    ball = np.stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)], axis=1)
    normals, areas = np.concatenate([ball, ball]), np.full(16000, 4.0 * np.pi / 8000)
    print("overlap / spacing | hits | look cold, warm [ms] | evaluations of F | onto the contact surface [ms]")
    for part in (0.5, 1.0, 2.0, 3.0):
        step = part * float(np.sqrt(areas[0]))
        surfaces = Surfaces.still(np.concatenate([ball, ball + [2.0 - step, 0, 0]]), normals, areas, np.array([0, 8000, 16000]))
        low, high = boxes(surfaces)
        some = candidates(surfaces, overlapping(low, high), low, high)
        spent = []
        for _ in range(3):
            cold = Candidates(some.surfel, some.other, np.full(len(some), -1))
            began = time.process_time()
            start_samples(surfaces, cold)
            hits, sample = colliding(surfaces, cold, np.zeros((len(some), 3)))
            middle = time.process_time()
            warm = Candidates(some.surfel, some.other, sample)
            colliding(surfaces, warm, np.zeros((len(some), 3)))
            ended = time.process_time()
            moved = moved_to_contact(surfaces, hits, np.full(len(hits), 0.5))
            spent.append((middle - began, ended - middle, time.process_time() - ended))
        cost = 1000 * np.array(spent).min(axis=0)
        print(f"{part:17.1f} | {len(hits):4d} | {cost[0]:.2f}, {cost[1]:.2f} | {moved.looked.mean():.2f} | {cost[2]:.2f}")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["busts", "many", "depth"]
    for name in chosen:
        print(f"-- {name}")
        {"busts": busts, "many": many, "depth": depth}[name]()
