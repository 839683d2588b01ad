"""Record a run, stop half-way, resume it, and read it back: the resumed run equals the uninterrupted one bit for bit."""

import tempfile
from pathlib import Path

import numpy as np

from pliant import Scene
from pliant.record import Run
from pliant.simulate import running


def scene(duration):
    made = Scene(name="hop", dt=0.002, duration=duration)
    made.add(name="ground", shape="plane", model="static")
    made.add(
        name="ball",
        shape={"kind": "ball", "radius": 0.1, "edge": 0.05},
        position=(0, 0, 0.12),
        velocity=(0.5, 0, 0),
        material={"youngs_modulus": 5e4},
    )
    return made


folder = Path(tempfile.mkdtemp())

sim, recorder = running.start(scene(0.3), folder / "whole", every=0.01)
whole = running.run(sim, recorder)

sim, recorder = running.start(scene(0.15), folder / "half", every=0.01)
running.run(sim, recorder)
sim, recorder = running.reopen(folder / "half", duration=0.3)
half = running.run(sim, recorder)
print(f"{whole.status} and {half.status}: {whole.path.name}, {half.path.name}")

with Run.open(whole.path) as a, Run.open(half.path) as b:
    same = all(np.array_equal(a.points(i), b.points(i)) for i in range(a.frames))
    print(f"{a.frames} and {b.frames} frames, equal bit for bit: {same}")
    last = a.frames - 1
    print("fields:", ", ".join(a.fields(last)))
    series, pairs = a.series(), a.pairs()
    print(f"per step: {len(series['time'])} rows of {', '.join(n for n in series if not n.startswith('seconds'))}")
    force, depth = np.linalg.norm(pairs["force"], axis=1), series["max_depth"]
    print(f"largest force between two bodies {force.max():.1f} N, deepest contact {1000 * depth.max():.2f} mm")
    touching, speed = a.contacts().gap, np.linalg.norm(a.field("velocity", last), axis=1)
    print(f"contacts in the last frame: {len(touching)}, top speed {speed.max():.2f} m/s")
