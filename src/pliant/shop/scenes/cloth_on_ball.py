"""A cloth of springs falls over a ball and folds onto itself.

An open, two-sided surface that meets a ball, the ground and itself by continuous penalty forces. Stiff for cloth so light
(s = 1.5): the vertices of the ball share the few faces of the cloth they are under, which makes each of them soft.
"""

from __future__ import annotations

import numpy as np

from pliant.scene import Scene
from pliant.simulate.simulation import Simulation

SIZE, RADIUS = 0.5, 0.12  # [m]


def make(
    edge: float = 0.03, stiffness: float = 60.0, method: str = "continuous-penalty", friction: float = 0.3, dt: float = 0.002,
    duration: float = 1.0,
) -> Scene:  # fmt: skip
    """edge [m] and stiffness [N/m] of the springs."""
    contact = {"method": method, "s": 1.5 if method == "continuous-penalty" else 1.0, "damping": 0.3, "implicit": False}
    scene = Scene(dt=dt, duration=duration, contact=contact, about="Cloth on a ball, with self-contact.")
    cloth = dict(spring_stiffness=stiffness, spring_damping=0.05, density=300.0, thickness=0.002, mass_damping=1.0)
    scene.add(name="ground", shape="plane", model="static", friction=friction)
    scene.add(name="ball", shape=dict(kind="ball", radius=RADIUS, edge=0.05), model="static", position=(0, 0, RADIUS), friction=friction)
    scene.add(
        name="cloth", shape=dict(kind="membrane", size=(SIZE, SIZE), edge=edge), model="springs", network="surface", material=cloth,
        position=(0.02, 0.01, 2 * RADIUS + 0.02), friction=friction,
    )  # fmt: skip
    scene.pair("cloth", "cloth", friction=friction)
    return scene


def expect(sim: Simulation) -> list[str]:
    """No vertex is in the ball or under the ground; the cloth hangs over the ball."""
    points = sim.points("cloth")
    deep = RADIUS - float(np.linalg.norm(points - [0, 0, RADIUS], axis=1).min())
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    assert deep < 0.005 and low > -0.005, f"{1000 * deep:.1f} mm in the ball, lowest vertex at {1000 * low:.1f} mm"
    assert 2 * RADIUS - 0.01 < high < 2 * RADIUS + 0.06, f"the top of the cloth is at {high:.3f} m"
    return [f"The cloth is at most {1000 * max(deep, 0.0):.2f} mm in the ball and hangs {1000 * (high - low):.0f} mm down."]
