"""A recorded run for the page: what it is, its topologies and its frames, as blocks of bytes made on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.contact.contacts import Contacts
from pliant.live import shown
from pliant.live.curves import run_curves
from pliant.live.html import beside, page
from pliant.live.pack import pack
from pliant.live.server import BYTES, Server
from pliant.live.shown import hierarchy
from pliant.look import fields
from pliant.look.pairs import marks_in
from pliant.look.source import Film, Picture
from pliant.look.stage import containers, framed
from pliant.measure.forces import Forces, headline, milliseconds
from pliant.measure.pairs import STEP_WORDS, pair_table
from pliant.record import Run
from pliant.record.snapshot import thaw

HTML = "text/html; charset=utf-8"
MOST_PAIRS = 8  # whose contact is told in words
LOOKED_AT = 24  # frames that ranges of colours are chosen from
LOOKED_BYTES = 1 << 28  # [bytes] of them together, but for the first and the last: a run of large frames is to be seen soon


class Reel:
    """Frames of a run as the page wants them. Several clients may ask at once; the file is read by one of them at a time."""

    def __init__(self, run: Run, field: str = "auto", frames: Sequence[int] | None = None) -> None:
        """Of all frames, or of some; the page numbers them from 0 on."""
        self.run, self._film, self._lock = run, Film(run), Lock()
        self._shown = [run.index(i) for i in (range(run.frames) if frames is None else frames)]
        most = max(2, min(LOOKED_AT, LOOKED_BYTES // max(run.frame_bytes(self._shown[-1]), 1)))
        looked = np.linspace(0, len(self._shown) - 1, min(most, len(self._shown))).round().astype(int)
        chosen = [self._shown[k] for k in np.unique(looked).tolist()]
        pictures = [self._film.picture(i) for i in chosen]
        last = pictures[-1]
        names = fields.offered(set().union(*(picture.point_fields for picture in pictures)))
        self.fields = [name for name in names if name not in ("shown", "velocity")]  # speed says it
        self.survey = shown.survey(pictures, self.fields)
        start = fields.choose(field, last.point_fields, last.kinds, fields.touches(*pictures))
        camera = framed(self.survey.around, shown.WINDOW)
        self._pairs = pair_table(run)  # now, while nobody else reads the file
        self.words: dict[str, Any] = shown.words(last, self.survey, containers(last, camera)) | {
            "kind": "run", "times": run.times[self._shown], "steps": run.steps[self._shown], "field": start, "curves": run_curves(run),
            "topologies": [run.topology_number(i) for i in self._shown], "status": run.status, "looked": len(chosen),
            "notes": [*_contact_words(run), *(f"Changed by hand at {order.words}" for order in run.orders), *run.notes],
        }  # fmt: skip

    def manifest(self) -> bytes:
        """What the page must know first."""
        return pack(self.words, {})

    def topology(self, number: int) -> bytes:
        """What is drawn over the points of the frames that name this number."""
        first = self._first(number)
        with self._lock:
            picture, cells = self._film.picture(first, ()), self.run.cells(first)
        tets = np.concatenate([cells.tets, cells.tets10[:, :4]])
        return pack({"number": number}, shown.topology(picture, tets, cells.body[: len(tets)]))

    def hierarchy(self, number: int) -> bytes:
        """Trees over what the topology of this number draws."""
        with self._lock:
            picture = self._film.picture(self._first(number), ())
            return pack({"number": number}, hierarchy(picture))

    def _first(self, number: int) -> int:
        known: list[int] = self.words["topologies"]
        if number not in known:
            raise PliantError(f"there is no topology {number} in {self.run.path.name}")
        return self._shown[known.index(number)]

    def frame(self, i: int, chosen: list[str], small: bool = False, common: bool = False) -> bytes:
        """Frame i with the values of chosen fields; `small`: in 16 bits; `common`: with what bodies have in common."""
        if not 0 <= i < len(self._shown):
            raise PliantError(f"there is no frame {i}: the page has {len(self._shown)}")
        unknown = [name for name in chosen if name not in self.fields]
        if unknown:
            raise PliantError(f"there is no field {unknown[0]!r}; there are {', '.join(self.fields)}")
        with self._lock:
            picture, contacts = self._picture(self._shown[i], chosen)
            both = shown.in_common(picture) if common else None
        meta = {
            "frame": i, "time": picture.time, "step": int(self.words["steps"][i]), "topology": self.words["topologies"][i],
            "contacts": len(contacts), "inverted": len(picture.inverted), "resolved": self._resolved(picture.time),
            "pairs": picture.marks.counts if picture.marks is not None else None,
            "common": None if both is None else shown.volumes(picture, both),
        }  # fmt: skip
        return pack(meta, shown.frame(picture, chosen, contacts, both), small)

    def _resolved(self, time: float) -> list[str]:
        """How well each pair is resolved in the step that ends at a time, the hardest first."""
        table = self._pairs
        here = np.flatnonzero(np.isclose(table["time"], time, rtol=1e-9, atol=1e-12)) if STEP_WORDS[0] in table else np.zeros(0, np.int64)
        here = here[np.argsort(-np.linalg.norm(table["force"][here], axis=1), kind="stable")] if len(here) else here
        words = lambda k: ", ".join(f"{name.removeprefix('in_')} {table[name][k] or '-'}" for name in STEP_WORDS)
        return [f"{table['a'][k]} – {table['b'][k]}: {words(k)}" for k in here[:MOST_PAIRS]]

    def _picture(self, i: int, chosen: list[str]) -> tuple[Picture, Contacts]:
        recorded = self.run.fields(i)
        wanted = {fields.source_of(name, recorded) for name in chosen}
        picture = self._film.picture(i, wanted)
        checkpoint = self.run.checkpoint_at(i)
        if checkpoint is not None and "methods" in checkpoint.meta:
            memory = thaw(dict(checkpoint.arrays), checkpoint.meta).memory
            if any("corners" in held for held in memory.values()):
                picture = Picture(**{**vars(picture), "marks": marks_in(memory, picture.points)})
        return picture, Contacts.of_arrays(self.run.contact_rows(i))


def _contact_words(run: Run) -> list[str]:
    """The largest force of a run, and how well its hardest contacts are resolved."""
    found = Forces(run).all()
    told = lambda peak: f"{peak.a} – {peak.b}: {peak.mean:.4g} N over {milliseconds(peak.window)}; {peak.resolution.told}"
    return [headline(found[0]), *(told(peak) for peak in found[:MOST_PAIRS])] if found else []


# ---- `pliant view`: a recorded run in the browser


def serve(runs: Run | Sequence[Run], field: str = "auto", host: str = "127.0.0.1", port: int | None = None) -> Server:
    """A server that shows a run, or several beside each other, until it is closed."""
    shown_ = [runs] if isinstance(runs, Run) else list(runs)
    reels = [Reel(run, field) for run in shown_]

    def reel(asked: Mapping[str, str]) -> Reel:
        k = int(asked.get("run", "0"))
        if not 0 <= k < len(reels):
            raise PliantError(f"there is no run {k}: {len(reels)} are shown")
        return reels[k]

    chosen = lambda asked: [] if (name := asked.get("field", "body")) == "body" else [name]
    first = page() if len(reels) == 1 else beside([""] * len(reels))
    return Server(
        {
            "/": lambda asked: (HTML, first.encode()),
            "/one": lambda asked: (HTML, page().encode()),
            "/manifest": lambda asked: (BYTES, reel(asked).manifest()),
            "/topology": lambda asked: (BYTES, reel(asked).topology(int(asked["number"]))),
            "/hierarchy": lambda asked: (BYTES, reel(asked).hierarchy(int(asked["number"]))),
            "/frame": lambda asked: (BYTES, reel(asked).frame(int(asked["number"]), chosen(asked), common=asked.get("common") == "1")),
        },
        host=host,
        port=port,
    )
