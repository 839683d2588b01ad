"""A rubber block is pressed by a plate and dragged along: the force over time tells Young's modulus and friction.

`block` makes the scene of a study; `python rubber_test.py` makes up the measured curve, with 2 % noise, of E = 180 kPa and mu = 0.35.
"""

from pathlib import Path

import numpy as np

from pliant import Scene
from pliant.measure.watch import Watch  # the forces that studies measure

TRUTH = {"young": 1.8e5, "mu": 0.35}


def block(young: float, mu: float) -> Scene:
    """Press by 2 mm in 40 ms, then drag to the side at 0.2 m/s."""
    scene = Scene(dt=0.002, duration=0.1, contact="noniterative", gravity=(0, 0, 0))
    rubber = {"youngs_modulus": young, "poisson_ratio": 0.4, "density": "1.1g/cm^3", "stiffness_damping": "3ms"}
    size = ["4cm", "4cm", "2cm"]
    scene.add(name="block", shape={"kind": "box", "size": size, "edge": "2cm"}, material=rubber, fixed=[{"side": "-z"}], friction=mu)
    press = {"times": ["0ms", "40ms", "100ms"], "values": [[0, 0, 0], [0, 0, "-2mm"], ["12mm", 0, "-2mm"]]}
    scene.add(name="plate", shape={"kind": "box", "size": ["8cm", "8cm", "1cm"], "edge": "4cm"}, model="rigid", friction=mu,
              position=(0, 0, "15mm"), motions=[{"shift": press}])  # fmt: skip
    return scene


def measured(seed: int = 0, noise: float = 0.02) -> dict[str, np.ndarray]:
    """The forces of the true block at 40 times, with noise in parts of the largest."""
    sim = block(**TRUTH).simulate()
    seen = {name: Watch(sim, "force", pair=("plate", "block"), component=axis) for name, axis in (("push", "z"), ("drag", "x"))}
    sim.run(each=lambda report: [each.take(report) for each in seen.values()])
    time = np.linspace(0.02, 0.1, 41)
    random = np.random.default_rng(seed)
    curves = {name: np.interp(time, each.end, each.values) for name, each in seen.items()}
    return {"time": time} | {name: y + noise * np.abs(y).max() * random.normal(size=len(y)) for name, y in curves.items()}


if __name__ == "__main__":
    columns = measured()
    rows = [",".join(columns), *(",".join(f"{v:.6g}" for v in row) for row in zip(*columns.values(), strict=True))]
    Path(__file__).with_name("rubber_test.csv").write_text("\n".join(rows) + "\n")
