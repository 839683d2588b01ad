"""A tiny scene for studies: a ball that falls, of which everything is known."""

from __future__ import annotations

import pytest

from pliant import Scene


def ball(dt: float = 0.01, duration: float = 0.1) -> Scene:
    scene = Scene(name="ball", dt=dt, duration=duration, contact="none")
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.1, "edge": 0.1}, model="rigid")
    return scene


def fallen(g: float, speed: float = 0.0, dt: float = 0.01, steps: int = 10) -> float:
    """Where the ball is after some steps of the symplectic scheme [m]."""
    return speed * dt * steps - g * dt * dt * steps * (steps + 1) / 2


FALL = {"of": "displacement", "body": "ball", "component": "z"}


@pytest.fixture
def plain_rows():
    """Rows without what may differ from one run to the next."""
    return lambda results: [{k: v for k, v in row.items() if k not in ("seconds", "stepping")} for row in results.rows]
