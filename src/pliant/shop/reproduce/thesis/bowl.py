"""T7: a soft bunny in a rigid bowl (7.2, Figs. 7.13 and 7.14).

Masses, sizes and the material are not published; ours are in scenes/thesis.py. Elements are quadratic, as in the thesis. There an impulse
goes to the masses of the nodes it meets (`response = "mass"`); through the implicit solve of the whole body (`"system"`, our default)
neighbours take part of it. Both run side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.look import from_simulation
from pliant.shop import scenes
from pliant.shop.reproduce.experiment import Desk, Measured
from pliant.shop.reproduce.verdict import Claim, above, times
from pliant.shop.reproduce.watch import History, plot, strip
from pliant.shop.scenes.thesis import BUNNY

OPEN = "height, masses and material are not published; ours falls lower and is damped"
RESPONSES = ("mass", "system")
STIFF, SOFT = 0.5, 0.05  # s of the automatic stiffness, and a tenth
IMPACT = 0.2  # [s] by when the bunny has hit the bowl
SLOW = 0.02  # [m/s] of a body that counts as resting


class Fall(History):
    """Also inverted elements and the speed of the bunny."""

    def __init__(self, response: str, **values: Any) -> None:
        scene = scenes.make("bunny-in-bowl", **values)
        assert isinstance(scene.contact, dict)
        scene.contact["response"] = response
        scene.bodies[2].element = "quadratic"  # type: ignore[union-attr]
        super().__init__(scene.simulate(), "bunny", "bowl")
        self.inverted: list[int] = []
        self.speeds: list[float] = []

    def look(self, report: object = None) -> None:
        super().look()
        state = self.sim.state
        self.inverted.append(int(np.count_nonzero(self.sim.world.model.groups[0].stretch(state.x) <= 0.0)))
        self.speeds.append(float(np.sqrt(np.mean(np.sum(state.v**2, axis=1)))))

    @property
    def rests(self) -> float:
        """[s] after which it is slow for good; infinite if it never is."""
        fast = np.flatnonzero(np.array(self.speeds) > SLOW)
        return float(self.time[fast[-1]]) if len(fast) and fast[-1] + 1 < len(self.speeds) else np.inf


def rest(desk: Desk) -> Measured:
    """T7: comes to rest; inverted elements at impact under both responses, with the automatic stiffness and a tenth of it.

    Only the response of the thesis with the automatic stiffness runs on until it rests; the others are about the impact.
    Quick: 0.2 s of the response of the thesis.
    """
    common: dict[str, Any] = dict(dt=0.002)
    impact, long = desk.either((0.4, 2.5), (0.2, 0.2))  # [s]
    responses = RESPONSES[: desk.either(2, 1)]
    if "bunny" in desk.scans:
        scan = desk.scans["bunny"]
        common |= dict(file=scan.file, up=scan.up)
    runs = {
        (r, s): Fall(r, s=s, duration=long if (r, s) == ("mass", STIFF) else impact, **common) for r in responses for s in (STIFF, SOFT)
    }
    pictures = []
    for k, ((_, s), seen) in enumerate(runs.items()):
        desk.at(k / len(runs))
        end = seen.sim.scene.duration
        while seen.sim.time < min(IMPACT, end) - 1e-9 and not any(seen.inverted):
            seen.run(seen.sim.time + common["dt"])
        turned = from_simulation(seen.sim)
        if seen.sim.time < end - 1e-9:
            seen.run()
        if s == STIFF:
            pictures += [turned, from_simulation(seen.sim)]
    strip(desk.path("T7-pictures.png"), pictures, "pressure", columns=2)
    name = {(r, s): f"{r}, s = {s:g}" for r, s in runs}
    plot(desk.path("T7.png"), [
        ("", "speed [m/s]", {name[key]: (h.time, h.speeds) for key, h in runs.items()}),
        ("", "deepest contact [mm]", {name[key]: (h.time, 1000 * h.deepest) for key, h in runs.items()}),
        ("", "inverted elements", {name[key]: (h.time, h.inverted) for key, h in runs.items()}),
    ], log=[0])  # fmt: skip
    most = {key: max(h.inverted) for key, h in runs.items()}
    depth = {key: 100 * float(h.deepest.max()) / BUNNY for key, h in runs.items()}
    found: Measured = {"elements": len(runs["mass", STIFF].sim.world.model.groups[0].nodes)}
    for r in responses:
        found |= {f"{r} inverted": most[r, STIFF], f"{r} fewer": most[r, STIFF] - most[r, SOFT]}
        found |= {f"{r} depth": depth[r, STIFF], f"{r} deeper": depth[r, SOFT] / depth[r, STIFF]}
    return found if desk.quick else {**found, "mass rests": runs["mass", STIFF].rests}


FELL = (
    Claim("elements", "quadratic tetrahedra", "not given"),
    Claim("mass inverted", "inverted elements at impact, impulses to masses as in the thesis", "some (Fig. 7.14)", above(0), why=OPEN),
    Claim("mass fewer", "how many fewer with a tenth of the stiffness, to masses", "fewer", above(0), why=OPEN),
    Claim("system inverted", "inverted elements at impact, impulses through the solve", "not run", whole=True),
    Claim("system fewer", "how many fewer with a tenth of the stiffness, through the solve", "not run", whole=True),
    *(Claim(f"{r} depth", f"deepest contact, response {r}", "not given", unit="% of the body", whole=r != "mass") for r in RESPONSES),
    *(
        Claim(f"{r} deeper", f"the same with a tenth of the stiffness, over it, response {r}", "deeper", above(1.0), whole=r != "mass")
        for r in RESPONSES
    ),
    Claim("mass rests", "slower than 20 mm/s for good after, to masses", "about 2 s", times(2.0, 2), "s", OPEN, whole=True),
)
