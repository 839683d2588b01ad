"""What the page may ask of a live simulation: each order is a function that runs between two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.contact.method import METHODS
from pliant.geometry.mesh import PliantError
from pliant.live import change
from pliant.live.apart import apart
from pliant.live.hand import GRAVITY, Hand, with_hand
from pliant.live.history import History
from pliant.live.pace import Pace
from pliant.live.session import Session
from pliant.live.tape import Tape
from pliant.reading import nearest
from pliant.record.snapshot import read_meshes
from pliant.simulation import Simulation

Order = dict[str, Any]
Said = dict[str, Any]


def obey(session: Session, order: Order) -> Said:
    """Carry out an order of the page and say what came of it."""
    name = order.get("do")
    if not isinstance(name, str) or name not in ORDERS:
        raise PliantError(f"There is no order '{name}': {nearest(str(name), ORDERS)}")
    return session.order(lambda: ORDERS[name](session, order))


# -- time


def start(session: Session, order: Order) -> Said:
    session.running = True
    session.pace.begin(session.sim.time)
    return {}


def pause(session: Session, order: Order) -> Said:
    session.running = False
    session.pace.pause()
    session.publish()
    return {}


def step(session: Session, order: Order) -> Said:
    pause(session, order)
    session.advance()
    session.pace.pause()
    session.publish()
    return {"step": session.sim.state.step}


def reset(session: Session, order: Order) -> Said:
    """Back to the scene as it was given."""
    said = _stop_tape(session)
    release(session, order)
    session.running = False
    session.sim = with_hand(Simulation(read_meshes(session.given)))
    session.pace, session.history, session.trouble, session.ranges, session.glass = Pace(), History(), {}, {}, set()
    session.begin_epoch()
    return {"say": f"Back to the start. {said}".strip()}


# -- settings


def set_dt(session: Session, order: Order) -> Said:
    dt, longest, smallest = float(order["to"]), *_longest(session)
    if dt > longest:
        raise PliantError(
            f"dt = {dt:g} s is too long: in one step a body would fall further than the smallest is large, {smallest:.3g} m. "
            f"Give at most {longest:.2g} s."
        )
    _rebuild(session, dt=dt)
    return {"say": f"dt = {session.sim.dt:g} s from now on."}


def _longest(session: Session) -> tuple[float, float]:
    """The longest step [s] in which a fall from rest is no longer than the smallest moving body, and its size [m]."""
    bodies = session.sim.world.model.bodies
    points = [session.sim.points(name) for name, kind in zip(bodies.names, bodies.kind, strict=True) if kind != "static"]
    smallest = min((size for p in points if len(p) and (size := float(np.ptp(p, axis=0).max())) > 0.0), default=np.inf)
    return max(session.given.dt, float(np.sqrt(2.0 * smallest / GRAVITY))), smallest


def set_method(session: Session, order: Order) -> Said:
    method = str(order["to"])
    if method not in (*METHODS, "auto"):
        raise PliantError(f"There is no contact method '{method}': {nearest(method, [*METHODS, 'auto'])}")
    _rebuild(session, contact=method)
    return {"say": f"Contact is {next(iter(session.sim.contact.methods))} from now on; its memory begins anew."}


def set_gravity(session: Session, order: Order) -> Said:
    session.sim.set("gravity", tuple(float(v) for v in order["to"]))
    session.words["gravity"] = session.sim.scene.gravity
    return {"say": "Gravity is changed."}


def set_friction(session: Session, order: Order) -> Said:
    session.sim.set(f"{order['body']}.friction", float(order["to"]))
    _note_materials(session)
    return {"say": f"{order['body']} has friction {float(order['to']):g} from now on."}


def set_stiffness(session: Session, order: Order) -> Said:
    body = next((b for b in session.sim.scene.bodies if b.name == order["body"]), None)
    found = change.stiffness(body) if body is not None else None
    if found is None:
        raise PliantError(f"{order['body']} is not soft, so it has no stiffness.")
    session.sim.set(found[0], float(order["to"]))
    _note_materials(session)
    return {"say": f"{order['body']} has {found[0].rsplit('.', 1)[-1].replace('_', ' ')} {float(order['to']):g} from now on."}


def _note_materials(session: Session) -> None:
    bodies = session.sim.scene.bodies
    session.words["materials"] = [{"name": b.name, "friction": b.friction, "stiffness": change.stiffness(b)} for b in bodies]


def _rebuild(session: Session, **values: Any) -> None:
    """Go on in another simulation; the old one stays if the new one is refused."""
    scene = session.sim.scene.copy_with(**values)
    new = change.rebuilt(session.sim, scene)
    release(session, {})
    session.sim = new
    session.begin_epoch()
    if session.tape is not None:
        session.tape.take(new)


# -- hands and bodies


def grab(session: Session, order: Order) -> Said:
    release(session, order)
    session.hand = Hand.grab(session.sim, int(order["point"]), float(order.get("strength", 1.0)))
    return {"stiffness": session.hand.stiffness}


def pull(session: Session, order: Order) -> Said:
    if session.hand is None:
        raise PliantError("Nothing is held.")
    session.hand.move(order["to"])
    return {}


def release(session: Session, order: Order) -> Said:
    if session.hand is not None:
        session.hand.release()
        session.hand = None
    return {}


def drop(session: Session, order: Order) -> Said:
    body = change.dropped(session.sim, str(order["shape"]), str(order["kind"]))
    _rebuild(session, bodies=[*session.sim.scene.bodies, body])
    return {"say": f"{body.name} falls from z = {body.position[2]:.3g} m."}


# -- saving


def save_scene(session: Session, order: Order) -> Said:
    """Everything as it stands, as a scene to begin from."""
    scene, moved, refused = apart(change.as_it_stands(session.given, session.sim))
    text = scene.to_toml()
    session.folder.mkdir(parents=True, exist_ok=True)
    stem = f"{scene.name}-live"
    path = next(p for i in range(1, 10000) if not (p := session.folder / (f"{stem}.toml" if i == 1 else f"{stem}-{i}.toml")).exists())
    path.write_text(text, encoding="utf-8")
    said = f"Saved {path}: settings, places and velocities of now; soft bodies begin undeformed"
    if moved:
        said += ", so these were moved out of each other: " + ", ".join(f"{name} by {1e3 * far:.3g} mm" for name, far in moved.items())
    if refused:
        said += f". A run of it will be refused: {refused} To go on from exactly here, record a run and resume it"
    return {"say": f"{said.rstrip('.')}."}


def record(session: Session, order: Order) -> Said:
    """Begin a recording, or end it."""
    from pliant.terminal import free_name

    if session.tape is not None:
        said = _stop_tape(session)
        session.publish()
        return {"say": said}
    session.tape = Tape(session.sim, free_name(session.folder / f"{session.sim.scene.name}-live"))
    session.publish()
    return {"say": f"Recording to {session.tape.recorder.path}."}


def _stop_tape(session: Session) -> str:
    if session.tape is None:
        return ""
    path = session.tape.close(session.sim, session.warnings)
    session.tape = None
    return f"Saved {path}: look at it with pliant view, go on with pliant resume and --duration above {session.sim.time:.3g}."


ORDERS: dict[str, Callable[[Session, Order], Said]] = {
    "start": start, "pause": pause, "step": step, "reset": reset, "dt": set_dt, "method": set_method, "gravity": set_gravity,
    "friction": set_friction, "stiffness": set_stiffness, "grab": grab, "pull": pull, "release": release, "drop": drop,
    "save-scene": save_scene, "record": record,
}  # fmt: skip
