"""What the page may ask of a live simulation: each order is a function that runs between two steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late  # another than the built-in one in Python 3.10
from threading import Lock
from typing import Any

import numpy as np

from pliant.base import PliantError, nearest
from pliant.contact.method import METHODS
from pliant.disk import file_stem, make_folder, write_text
from pliant.live import change
from pliant.live.change import apart
from pliant.live.curves import History
from pliant.live.hand import Hand, with_hand
from pliant.live.html import page
from pliant.live.pace import Pace
from pliant.live.pack import pack, plain
from pliant.live.server import BYTES, Server
from pliant.live.session import Session
from pliant.live.tape import Tape
from pliant.measure.resolution import rounded_down
from pliant.record.orders import Order
from pliant.record.run import free_name
from pliant.simulate.build import read_meshes
from pliant.simulate.guards import longest_step
from pliant.simulate.simulation import Simulation

Asked = dict[str, Any]
Said = dict[str, Any]


def obey(session: Session, order: Asked) -> Said:
    """Carry out an order and say what came of it."""
    return session.order(meant(session, order))


def meant(session: Session, order: Asked) -> Callable[[], Said]:
    """What an order asks for, to be called between two steps."""
    name = order.get("do")
    if not isinstance(name, str) or name not in ORDERS:
        raise PliantError(f"There is no order '{name}': {nearest(str(name), ORDERS)}")
    return lambda: ORDERS[name](session, order)


# What orders may set: least, most, unit. Beyond these nothing is simulated; typing mistakes are.
BOUNDS = {
    "dt": (1e-7, 10.0, "s"), "gravity": (-1e3, 1e3, "m/s²"), "friction": (0.0, 100.0, ""), "Young's modulus": (1.0, 1e13, "Pa"),
    "spring stiffness": (1e-3, 1e12, "N/m"), "strength": (1e-3, 1e3, ""), "size": (1e-4, 100.0, "m"), "place": (-1e4, 1e4, "m"),
}  # fmt: skip
MOST_BODIES = 300  # of a live simulation


def bounded(what: str, value: Any) -> float:
    """A number of an order, within what is allowed."""
    low, high, unit = BOUNDS[what]
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise PliantError(f"{what} = {str(value)[:40]}: it must be a number.") from None
    if not low <= number <= high:
        raise PliantError(f"{what} = {number:g}: it must be between {low:g} and {high:g} {unit}".rstrip() + ".")
    return number


# -- time


def start(session: Session, order: Asked) -> Said:
    session.running = True
    session.pace.begin(session.sim.time)
    return {}


def pause(session: Session, order: Asked) -> Said:
    session.running = False
    session.pace.pause()
    session.publish()
    return {}


def step(session: Session, order: Asked) -> Said:
    pause(session, order)
    session.advance()
    session.pace.pause()
    session.publish()
    return {"step": session.sim.state.step}


def reset(session: Session, order: Asked) -> Said:
    """Back to the scene as it was given."""
    session.note_pull()
    session.note(Order(session.sim.time, "reset", "", "back to the scene as it was given; the recording ends"))
    said = _stop_tape(session)
    session.let_go()
    session.running = False
    session.sim = with_hand(Simulation(read_meshes(session.given)))
    session.pace, session.history, session.trouble, session.ranges, session.glass = Pace(), History(), {}, {}, set()
    session.log, session.noted = [], {}
    session.begin_epoch()
    return {"say": f"Back to the start. {said}".strip()}


# -- settings


def set_dt(session: Session, order: Asked) -> Said:
    dt, longest, smallest = bounded("dt", order["to"]), *_longest(session)
    if dt > longest:
        raise PliantError(
            f"dt = {dt:g} s is too long: in one step a body would fall further than the smallest is large, {smallest:.3g} m. "
            f"Give at most {rounded_down(longest)} s."
        )
    before = session.sim.dt
    _rebuild(session, lambda new: Order(new.time, "dt", f"{before:g} s", f"{new.dt:g} s"), dt=dt)
    return {"say": f"dt = {session.sim.dt:g} s from now on."}


def _longest(session: Session) -> tuple[float, float]:
    """The longest step [s] that is taken, and the size of the smallest moving body [m]."""
    longest, smallest = longest_step(session.sim)
    return max(session.given.dt, longest), smallest


def set_method(session: Session, order: Asked) -> Said:
    method = str(order["to"])
    if method not in (*METHODS, "auto"):
        raise PliantError(f"There is no contact method '{method}': {nearest(method, [*METHODS, 'auto'])}")
    before = ", ".join(session.sim.contact.methods)
    _rebuild(session, lambda new: Order(new.time, "contact method", before, ", ".join(new.contact.methods)), contact=method)
    return {"say": f"Contact is {next(iter(session.sim.contact.methods))} from now on; its memory begins anew."}


def set_gravity(session: Session, order: Asked) -> Said:
    before = session.sim.scene.gravity
    session.sim.set("gravity", tuple(bounded("gravity", v) for v in order["to"]))
    _note(session, "gravity", *(f"({', '.join(f'{v:g}' for v in g)}) m/s²" for g in (before, session.sim.scene.gravity)))
    session.words["gravity"] = session.sim.scene.gravity
    return {"say": "Gravity is changed."}


def set_friction(session: Session, order: Asked) -> Said:
    before = next((b.friction for b in session.sim.scene.bodies if b.name == order["body"]), np.nan)
    session.sim.set(f"{order['body']}.friction", bounded("friction", order["to"]))
    _note(session, f"friction of {order['body']}", f"{before:g}", f"{float(order['to']):g}")
    _note_materials(session)
    return {"say": f"{order['body']} has friction {float(order['to']):g} from now on."}


def set_stiffness(session: Session, order: Asked) -> Said:
    body = next((b for b in session.sim.scene.bodies if b.name == order["body"]), None)
    found = change.stiffness(body) if body is not None else None
    if found is None:
        raise PliantError(f"{order['body']} is not soft, so it has no stiffness.")
    quantity, unit = ("spring stiffness", "N/m") if found[0].endswith("spring_stiffness") else ("Young's modulus", "Pa")
    session.sim.set(found[0], bounded(quantity, order["to"]))
    _note(session, f"{quantity} of {order['body']}", f"{found[1]:g} {unit}", f"{float(order['to']):g} {unit}")
    _note_materials(session)
    return {"say": f"{order['body']} has {quantity} {float(order['to']):g} {unit} from now on."}


def _note_materials(session: Session) -> None:
    bodies = session.sim.scene.bodies
    session.words["materials"] = [{"name": b.name, "friction": b.friction, "stiffness": change.stiffness(b)} for b in bodies]


def _note(session: Session, what: str, before: str, after: str) -> None:
    session.note(Order(session.sim.time, what, before, after))


def _rebuild(session: Session, told: Callable[[Simulation], Order], **values: Any) -> None:
    """Go on in another simulation; the old one stays if the new one is refused. `told`: what is remembered of it."""
    scene = session.sim.scene.copy_with(**values)
    new = change.rebuilt(session.sim, scene)
    session.let_go()
    session.sim = new
    session.begin_epoch()
    session.note(told(new))  # before the checkpoint, so that a recording that is resumed from it knows
    if session.tape is not None:
        session.tape.take(new)


# -- hands and bodies


def grab(session: Session, order: Asked) -> Said:
    session.let_go()
    session.hand = Hand.grab(session.sim, int(order["point"]), bounded("strength", order.get("strength", 1.0)))
    return {"stiffness": session.hand.stiffness}


def pull(session: Session, order: Asked) -> Said:
    if session.hand is None:
        raise PliantError("Nothing is held.")
    session.hand.move([bounded("place", v) for v in order["to"]])
    return {}


def release(session: Session, order: Asked) -> Said:
    session.let_go()
    return {}


def drop(session: Session, order: Asked) -> Said:
    size = bounded("size", order["size"]) if order.get("size") is not None else None
    if len(session.sim.scene.bodies) >= MOST_BODIES:
        raise PliantError(f"There are {MOST_BODIES} bodies, and no more are taken.")
    body = change.dropped(session.sim, str(order["shape"]), str(order["kind"]), size)
    size = change.usual_size(session.sim) if size is None else size
    told = f"{body.name}: {order['kind']} {order['shape']} of {size:.3g} m from z = {body.position[2]:.3g} m"
    _rebuild(session, lambda new: Order(new.time, "body dropped", "", told), bodies=[*session.sim.scene.bodies, body])
    return {"say": f"{body.name}, {size:.3g} m large, falls from z = {body.position[2]:.3g} m."}


# -- saving


def save_scene(session: Session, order: Asked) -> Said:
    """Everything as it stands, as a scene to begin from."""
    scene, moved, refused = apart(change.as_it_stands(session.given, session.sim))
    make_folder(session.folder)
    stem = _live_name(session)
    path = next(p for i in range(1, 10000) if not (p := session.folder / (f"{stem}.toml" if i == 1 else f"{stem}-{i}.toml")).exists())
    write_text(path, scene.model_copy(update={"name": path.stem}).to_toml())
    said = f"Saved {path}: run it with pliant run {path}. It has the settings, places and velocities of now; soft bodies begin undeformed"
    if moved:
        said += ", so these were moved out of each other: " + ", ".join(f"{name} by {1e3 * far:.3g} mm" for name, far in moved.items())
    if refused:
        said += f". A run of it will be refused: {refused} To go on from exactly here, record a run and resume it"
    return {"say": f"{said.rstrip('.')}."}


def record(session: Session, order: Asked) -> Said:
    """Begin a recording, or end it."""
    if session.tape is not None:
        said = _stop_tape(session)
        session.publish()
        return {"say": said}
    session.note_pull()
    session.tape = Tape(session.sim, free_name(session.folder / _live_name(session)), session.log)
    session.publish()
    return {"say": f"Recording to {session.tape.recorder.path}."}


def _live_name(session: Session) -> str:
    """Of a scene or run from here: that of the scene with -live behind it, once."""
    return re.sub(r"-live(-\d+)?$", "", file_stem(session.sim.scene.name, "The scene")) + "-live"


def _stop_tape(session: Session) -> str:
    if session.tape is None:
        return ""
    session.note_pull()
    path = session.tape.close(session.sim, session.warnings)
    session.tape = None
    return f"Saved {path}: look at it with pliant view, go on with pliant resume and --duration above {session.sim.time:.3g}."


ORDERS: dict[str, Callable[[Session, Asked], Said]] = {
    "start": start, "pause": pause, "step": step, "reset": reset, "dt": set_dt, "method": set_method, "gravity": set_gravity,
    "friction": set_friction, "stiffness": set_stiffness, "grab": grab, "pull": pull, "release": release, "drop": drop,
    "save-scene": save_scene, "record": record,
}  # fmt: skip


# ---- where orders of pages arrive

SOON = 0.5  # [s] in which the page is answered
KEPT = 1000  # answers that are remembered
MOST_WAITING = 200  # orders
MOST_LETTERS = 80


class Desk:
    """Takes the orders of pages: each is done once, however often it comes, and answered soon, if only with "queued".

    A browser sends an order again if its connection breaks, and the page asks again, with the same `id`, what came of one that was queued.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._answers: dict[str, Future[Said]] = {}
        self._lock = Lock()  # the same order may come twice at once

    def take(self, order: Asked) -> Said:
        """What came of an order, or that it waits."""
        name = str(order.get("id", ""))[:MOST_LETTERS]
        with self._lock:
            answer = self._answers.get(name) if name else None
            if answer is None:
                if self.session.waiting >= MOST_WAITING:
                    raise PliantError("Too many orders wait already; this one was not taken.")
                answer = self.session.later(meant(self.session, order), _title(order))
                if name:
                    self._answers[name] = answer
                while len(self._answers) > KEPT:
                    del self._answers[next(iter(self._answers))]
        try:
            return answer.result(SOON)
        except Late:
            return {"queued": True}


def _title(order: Asked) -> str:
    """An order as it is shown while it waits; pulls come too often to be worth it."""
    said = [str(order[key]) for key in ("do", "body", "to", "kind", "shape") if key in order]
    return "" if order.get("do") in ("grab", "pull", "release") else " ".join(said)[:MOST_LETTERS]


# ---- `pliant live`: a simulation in the browser


def serve(session: Session, host: str = "127.0.0.1", port: int | None = None) -> Server:
    """A server that shows a live simulation and takes orders, until it is closed."""
    return Server(
        {
            "/": lambda asked: ("text/html; charset=utf-8", page().encode()),
            "/manifest": lambda asked: (BYTES, pack(_words(session), {})),
            "/topology": lambda asked: (BYTES, session.moment.topology),
            "/hierarchy": lambda asked: (BYTES, session.hierarchy()),
            "/next": lambda asked: (BYTES, session.next(int(asked["after"]), [asked.get("field", "body")], asked.get("common") == "1")),
            "/curves": lambda asked: ("application/json", _curves(session)),
            "/busy": lambda asked: ("application/json", json.dumps(session.busy()).encode()),
        },
        Desk(session).take,
        host,
        port,
    )


def _words(session: Session) -> dict[str, Any]:
    """What the page must know; the methods it may choose, with the scene's own."""
    words = session.moment.words
    return words | {"methods": list(dict.fromkeys([*METHODS, words["method"]]))}


def _curves(session: Session) -> bytes:
    names = list(session.moment.picture.names.values())
    return json.dumps(plain(session.history.curves(names, list(session.log)))).encode()
