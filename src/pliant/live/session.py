"""A simulation that a page drives: one thread owns it, others leave orders and read what it last showed."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late  # another than the built-in one in Python 3.10
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.bodies.register import room_of
from pliant.contact.contacts import Contacts
from pliant.live import change, shown
from pliant.live.curves import History
from pliant.live.hand import Hand, with_hand
from pliant.live.pace import Compiling, Pace
from pliant.live.pack import pack
from pliant.live.shown import hierarchy
from pliant.live.tape import Tape
from pliant.look import fields
from pliant.look.pairs import marks_of
from pliant.look.source import Picture, from_simulation
from pliant.look.stage import containers, framed
from pliant.measure.intersection import Intersection
from pliant.record.orders import Order
from pliant.scene import Scene
from pliant.simulate.build import read_meshes
from pliant.simulate.simulation import Simulation
from pliant.simulate.verdicts import merged

FRAME = 1.0 / 30.0  # [s] of wall time between pictures, at least
SHARE = 0.25  # of the time may go into pictures
PATIENCE = 600.0  # [s] for an order: a rebuild may compile kernels, or fill a surface with tetrahedra
GRACE, AT_ONCE = 3.0, 0.2  # [s] that a step may take at the end before it is given up, and one that waits for kernels to be compiled
LOOK = 0.5  # [s] between looks for containers that hide something
HOLD = 2.0  # [s] that a client waits for the next picture before it asks again


@dataclass(frozen=True)
class Moment:
    """What was last shown."""

    version: int
    epoch: int
    picture: Picture
    contacts: Contacts
    meta: dict[str, Any]
    common: Intersection | None = None  # if somebody wants to see it
    words: dict[str, Any] = field(default_factory=dict)  # of its epoch
    topology: bytes = b""


class Session:
    """Runs a scene; `order` is called from any thread and returns when the order was carried out."""

    def __init__(self, scene: Scene, folder: Path = Path("runs"), field: str = "auto") -> None:
        self.given, self.folder, self.field = scene, folder, field
        self.sim = with_hand(Simulation(read_meshes(scene)))
        self.pace, self.history = Pace(), History()
        self.hand: Hand | None = None
        self.tape: Tape | None = None
        self.running, self.over = False, False
        self.epoch, self.version = 0, 0
        self.trouble: dict[str, None] = {}  # warnings so far, in order
        self.noted: dict[str, None] = {}  # what was said of this simulation and those before it
        self.log: list[Order] = []  # what was changed by hand since the start or the last reset
        self.compiling = Compiling()
        self._doing: tuple[str, float] | None = None  # the order that is being carried out, and since when [s]
        self.ranges: dict[str, tuple[float, float]] = {}
        self.glass: set[str] = set()  # containers that have begun to hide something
        self._orders: queue.Queue[tuple[Callable[[], dict[str, Any]], Future[dict[str, Any]], str]] = queue.Queue()
        self._news = Condition()
        self._common_until = 0.0  # [s] how long what bodies have in common is worked out, unless asked for again
        self.begin_epoch()
        self._thread = Thread(target=self._go, name="pliant simulation", daemon=True)
        self._thread.start()

    # -- from other threads

    def order(self, carry_out: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Have something done between two steps, and its answer."""
        try:
            return self.later(carry_out).result(PATIENCE)
        except Late:
            raise PliantError(f"The simulation has been busy for {PATIENCE:.0f} s; what was asked for is done when it can.") from None

    def later(self, carry_out: Callable[[], dict[str, Any]], title: str = "") -> Future[dict[str, Any]]:
        """Have something done between two steps; `title` is shown while it waits."""
        answer: Future[dict[str, Any]] = Future()
        self._orders.put((carry_out, answer, title))
        return answer

    @property
    def waiting(self) -> int:
        """How many orders wait."""
        return self._orders.qsize()

    def busy(self) -> dict[str, Any]:
        """What keeps the simulation from going on, since when [s], and which orders wait for it."""
        compiling, doing, now = self.compiling.seconds, self._doing, time.monotonic()
        with self._orders.mutex:
            waiting = [title for _, _, title in self._orders.queue if title]
        if compiling is not None:
            what = doing[0] if doing is not None and doing[0] not in ("", "step") else f"contact {next(iter(self.sim.contact.methods))}"
            return {"doing": f"compiling kernels for {what}, first use only", "seconds": compiling, "waiting": waiting}
        if doing is not None and doing[0]:
            return {"doing": doing[0], "seconds": now - doing[1], "waiting": waiting}
        return {"doing": "", "seconds": 0.0, "waiting": waiting}

    def hierarchy(self) -> bytes:
        """Trees over what is drawn now."""
        made: list[bytes] = []

        def build() -> dict[str, Any]:
            made.append(pack({"number": self.epoch}, hierarchy(self.moment.picture)))
            return {}

        self.order(build)
        return made[0]

    def next(self, after: int, chosen: list[str], common: bool = False) -> bytes:
        """The picture after one that is known, as soon as there is one; nothing if there is none for a while."""
        if common:
            self._common_until = time.monotonic() + 2.0 * HOLD
            if self.moment.common is None and self._orders.empty():
                self.later(self._published)
        with self._news:
            self._news.wait_for(lambda: self.moment.version > after or self.over, HOLD)
            moment = self.moment
        if moment.version <= after:
            return b""
        known = [name for name in chosen if name in fields.offered(moment.picture.point_fields)]
        meta = dict(moment.meta)
        if known and known[0] != "body":
            meta["range"] = moment.meta["ranges"].get(known[0], (0.0, 1.0))
        return pack(meta, shown.frame(moment.picture, known, moment.contacts, moment.common))

    def close(self, grace: float | None = None) -> bool:
        """Stop, and save what is being recorded; a step or order that lasts longer than `grace` [s] is not waited for: then False."""
        self.over = True
        self.later(dict)
        self._thread.join(grace if grace is None or self.compiling.seconds is None else min(grace, AT_ONCE))
        self.compiling.close()
        if self._thread.is_alive() and self.tape is not None:
            self.tape.cut_off(self.warnings)
        return not self._thread.is_alive()

    # -- the thread that owns the simulation

    def _go(self) -> None:
        while not self.over:
            self._take_orders(wait=not self.running)
            if self.running:
                wait = self.pace.ahead(self.sim.time)
                if wait > 0.0:
                    time.sleep(min(wait, 0.01))
                    continue
                self.advance()
            if time.perf_counter() > self._due:
                self.publish()
        if self.tape is not None:
            self.let_go()
            self.tape.close(self.sim, self.warnings)
        with self._news:
            self._news.notify_all()

    def _take_orders(self, wait: bool) -> None:
        """Carry out what was asked for; `wait` for an order if there is nothing else to do."""
        while True:
            try:
                carry_out, answer, title = self._orders.get(timeout=0.25) if wait else self._orders.get_nowait()
            except queue.Empty:
                return
            self._doing = (title, time.monotonic())
            try:
                answer.set_result(carry_out())
            except Exception as error:  # the page is told; the simulation goes on
                answer.set_exception(error if isinstance(error, PliantError | ValueError | KeyError) else PliantError(str(error)))
            self._doing = None
            wait = False

    def note(self, order: Order) -> None:
        """Remember a change by hand, also in what is being recorded."""
        self.log.append(order)
        if self.tape is not None:
            self.tape.order(order)

    def note_pull(self) -> None:
        """Remember how the hand has pulled so far."""
        if self.hand is not None and self.sim.time > self.hand.since:
            self.note(self.hand.told(self.sim.time))
            self.hand.count_from(self.sim.time)

    def let_go(self) -> None:
        """The hand opens."""
        self.note_pull()
        if self.hand is not None:
            self.hand.release()
            self.hand = None

    def advance(self) -> None:
        """Exactly one step of dt."""
        try:
            if self.hand is not None:
                self.hand.reach()
            epoch, tape = self.sim.epoch, self.tape
            report = self.sim.step(each=None if tape is None else tape.part)
        except PliantError as error:
            self.running = False
            self.trouble[str(error)] = None
            self.publish()
            return
        if self.sim.epoch is not epoch:  # a body has broken: its points are others now
            if self.hand is not None:
                self.note(self.hand.told(self.sim.time))
            self.hand = None
            self.begin_epoch()
        self.trouble |= dict.fromkeys(report.warnings)
        pull = 0.0 if self.hand is None else self.hand.feel()
        self.history.take(self.sim, report, elastic=time.perf_counter() > self._due or not self.running, pull=pull)
        self.pace.stepped(self.sim.time)
        if self.tape is not None:
            self.tape.step(self.sim, pull)

    # -- what is shown

    @property
    def warnings(self) -> list[str]:
        return merged([*self.noted, *self.trouble])

    def begin_epoch(self) -> None:
        """A new epoch: other bodies, fields or colours."""
        self.epoch += 1
        self.noted |= dict.fromkeys(self.sim.notes)
        picture = from_simulation(self.sim)
        names = [n for n in fields.offered(picture.point_fields) if n not in ("velocity", "shown")]
        survey = shown.survey([picture], names)
        self.ranges = {n: self._wider(n, survey.ranges[n]) for n in survey.ranges}
        self._look(picture)
        model, scene = self.sim.world.model, self.sim.scene
        self.words = shown.words(picture, survey, self.glass) | {
            "kind": "live", "epoch": self.epoch, "field": fields.choose(self.field, picture.point_fields, picture.kinds), "curves": [],
            "dt": self.sim.dt, "gravity": scene.gravity, "method": next(iter(self.sim.contact.methods)),
            "notes": self.sim.notes, "shapes": list(change.ACROSS), "kinds": list(change.KINDS), "drop_size": change.usual_size(self.sim),
            "materials": [{"name": b.name, "friction": b.friction, "stiffness": change.stiffness(b)} for b in scene.bodies],
        }  # fmt: skip
        soft = [i for i, k in enumerate(model.bodies.kind) if room_of(k).solid]
        inside = np.isin(model.skin.tet_body, soft)
        tets, owner = model.skin.tets[inside], model.skin.tet_body[inside]
        self._topology = pack({"number": self.epoch}, shown.topology(picture, tets, owner))
        self._due = 0.0
        self.publish(picture)

    def _wider(self, name: str, found: tuple[float, float]) -> tuple[float, float]:
        low, high = self.ranges.get(name, (0.0, 0.0))
        return min(low, found[0]), max(high, found[1]) if found[1] != 1.0 or high == 0.0 else high

    def _look(self, picture: Picture) -> None:
        """Find containers that hide something."""
        self.glass |= containers(picture, framed(shown.survey([picture], ()).around, shown.WINDOW))
        self._looked = time.monotonic()

    def _published(self) -> dict[str, Any]:
        self.publish()
        return {}

    def publish(self, picture: Picture | None = None) -> None:
        """Show the simulation as it is now."""
        began = time.perf_counter()
        picture = from_simulation(self.sim) if picture is None else picture
        if any("corners" in memory for memory in self.sim.state.memory.values()):
            picture = replace(picture, marks=marks_of(self.sim))
        for name in self.ranges:
            self.ranges[name] = self._wider(name, shown.limits(fields.sample(picture, name), name))
        if time.monotonic() > self._looked + LOOK:
            self._look(picture)
        common = shown.in_common(picture) if time.monotonic() < self._common_until else None
        meta = self._meta(picture) | {"common": None if common is None else shown.volumes(picture, common)}
        self.version = meta["version"]
        moment = Moment(self.version, self.epoch, picture, self.sim.contacts(), meta, common, self.words, self._topology)
        with self._news:
            self.moment = moment
            self._news.notify_all()
        spent = time.perf_counter() - began
        self._due = time.perf_counter() + max(FRAME, spent / SHARE)

    def _meta(self, picture: Picture) -> dict[str, Any]:
        report, hand = self.sim.report, self.hand
        pulled = None
        if hand is not None:
            force, to = float(np.linalg.norm(hand.force)), self.sim.world.model.skin.local[-1]
            pulled = {"point": hand.point, "to": to, "force": force, "rate": hand.rate}
        return {
            "version": self.version + 1, "topology": self.epoch, "time": self.sim.time, "step": self.sim.state.step,
            "contacts": len(self.sim.contacts()), "depth": report.max_depth if report else 0.0, "inverted": len(picture.inverted),
            "running": self.running, "wall": self.pace.wall, "ratio": self.pace.ratio if self.running else None,
            "rate": self.pace.rate if self.running else None, "warnings": merged(list(self.trouble)), "pull": pulled,
            "ranges": dict(self.ranges), "recording": self.tape is not None, "glass": sorted(self.glass),
            "pairs": picture.marks.counts if picture.marks is not None else None,
        }  # fmt: skip
