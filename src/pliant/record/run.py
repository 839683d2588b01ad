"""Reading a run: frames, fields, contacts, series and checkpoints, from a run file or from the journal beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import DamageError, Floats, Ints, PliantError, nearest
from pliant.record import index, vtkhdf
from pliant.record.journal import JournalReader
from pliant.record.layout import CELL_TYPES, fill_value
from pliant.record.orders import Order
from pliant.record.records import LOST, Array, Entry, Record, whole
from pliant.record.salvage import filled, sift
from pliant.record.table import Table, split_columns
from pliant.shown import Shown, plotted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from xarray import Dataset

    from pliant.contact.contacts import Contacts

FORMAT = 3  # 2: nothing is deflated or stored once for several frames; 1: no checksums in the run file, one for each record of the journal
NO_CELLS = {name: np.zeros((0, nodes) if nodes > 1 else 0, dtype=np.int64) for name, (_, nodes) in CELL_TYPES.items()}


def run_paths(path: str | Path) -> tuple[Path, Path]:
    """The run file and the journal of a run, named by either of them or without suffix."""
    path = Path(path)
    if not path.name or path.is_dir():
        raise PliantError(f"{path} is a folder, not a run: name a file, such as {path / 'NAME.vtkhdf'}")
    stem = path.with_suffix("") if path.suffix in (".vtkhdf", ".journal") else path
    return stem.with_name(stem.name + ".vtkhdf"), stem.with_name(stem.name + ".journal")


def free_name(path: Path) -> Path:
    """The path, or the path with the first number that makes it new: nothing is overwritten."""
    tries = [path] + [path.with_name(f"{path.name}-{i}") for i in range(2, 10000)]
    return next(p for p in tries if not any(file.exists() for file in run_paths(p)))


@dataclass(frozen=True)
class Cells:
    """What is drawn over the points of a frame; cell fields run over tets, tets10, triangles, vertices in turn."""

    tets: Ints = field(default_factory=lambda: NO_CELLS["tets"])  # (T, 4)
    tets10: Ints = field(default_factory=lambda: NO_CELLS["tets10"])  # (Q, 10): corners, then edges 01 12 02 03 13 23
    triangles: Ints = field(default_factory=lambda: NO_CELLS["triangles"])  # (F, 3)
    vertices: Ints = field(default_factory=lambda: NO_CELLS["vertices"])  # (S,), surfels
    body: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (T + Q + F + S,), body id of each cell
    bodies: dict[int, str] = field(default_factory=dict)  # name of each body id
    parents: dict[int, int] = field(default_factory=dict)  # fragment id -> id of the body it broke off

    def __post_init__(self) -> None:
        for name, (_, nodes) in CELL_TYPES.items():
            shape = (-1, nodes) if nodes > 1 else (-1,)
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64).reshape(shape))
        object.__setattr__(self, "body", np.asarray(self.body, dtype=np.int64).reshape(-1))

    @property
    def blocks(self) -> dict[str, Ints]:
        """The cells of each kind, in the order of cell fields."""
        return {name: getattr(self, name) for name in CELL_TYPES}

    @property
    def count(self) -> int:
        """Cells of all kinds."""
        return sum(len(block) for block in self.blocks.values())


class Run(Shown):
    """A run on disk. Close it, or use it as a context, when it is no longer read."""

    def __init__(self, entries: Sequence[Entry], path: Path, close: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self.entries = entries
        self.dropped_bytes = 0  # broken tail of the journal, left out
        self.damage: list[str] = []  # what was found to be damaged, in sentences
        self._whole: dict[int | None, int] = {}  # position of the checkpoint at or before a frame
        self._close = close
        self._at: dict[str, list[int]] = defaultdict(list)  # positions of the records of each kind
        for i, entry in enumerate(entries):
            self._at[entry.kind].append(i)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open NAME.vtkhdf, or the journal of a run that is going on or was killed, whichever knows more."""
        published, journal = run_paths(path)
        if Path(path).is_file() and Path(path) not in (published, journal):
            raise PliantError(f"{path} is not a run: runs are files NAME.vtkhdf, and NAME.journal while they last")
        reader = _reader(journal, required=not published.exists())
        if reader is not None:
            run = cls._of_journal(reader, published)
        elif published.exists():
            file, entries = vtkhdf.read(published)
            sifted = sift(entries, deep=False) if any(entry.kind == LOST for entry in entries) else None
            run = cls(entries if sifted is None else sifted.entries, published, file.close)
            if sifted is not None:
                run.damage.append(f"{published} is damaged: {sifted.words}. `pliant repair {published}` saves all that is whole.")
            if (missing := index.missing(file, entries)) > 0:
                run.damage.append(f"{published} was cut short by {missing} bytes or more. `pliant repair {published}` saves what is whole.")
            if vtkhdf.unverified(entries):
                run.damage.append(
                    f"The index of {published} is damaged. What it says of its scene, times and notes comes from a list without checksums "
                    "and may be wrong; frames and checkpoints are verified."
                )
            if journal.exists():
                run.damage.append(f"{journal} is damaged and was left out: this is what {published.name} had when it was last written")
        else:
            raise PliantError(f"there is no run {path}: neither {published} nor {journal} exists")
        if not run.entries or run.entries[0].kind != "header":
            run.close()
            raise DamageError(f"{path} is damaged: its first record is broken, so that nothing says what was run. "
                              f"`pliant repair {path}` saves the frames that are whole")  # fmt: skip
        if run.header.get("format", 0) > FORMAT:
            run.close()
            raise PliantError(f"{path} was written by a newer pliant ({run.header.get('pliant')}); update pliant")
        return run

    @classmethod
    def _of_journal(cls, reader: JournalReader, published: Path) -> Run:
        """The run of a journal; what damage has taken from it comes from the run file beside it, or is left out."""
        entries, beside = list(reader.entries), None
        counted = reader.first_format or [entry.number for entry in entries] == list(range(len(entries)))
        damaged = bool(reader.lost) or not counted
        if damaged and published.exists():
            entries, beside = filled(entries, published)
        sifted = sift(entries, reader.lost if beside is None else (), deep=False) if damaged else None

        def close() -> None:
            reader.close()
            if beside is not None:
                beside.close()

        run = cls(entries if sifted is None else sifted.entries, published, close)
        run.dropped_bytes = reader.dropped_bytes
        if sifted is not None:
            what = f"{sifted.words}." if sifted.lost else f"what it lacks is in {published.name}."
            run.damage.append(f"{reader.handle.name} is damaged: {what}")
        return run

    def close(self) -> None:
        """Close the file."""
        self._close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        span = f", t = {self.times[0]:.4g} to {self.times[-1]:.4g} s" if self.frames else ""
        return f"Run {str(self.path)!r}: {self.status}, {self.frames} frames{span}"

    def plot(self, what: str = "force", pair: tuple[str, str] | None = None, axes: Axes | None = None) -> Axes:
        """A curve over time as axes of matplotlib: force, pressure, area, depth, contacts, energy, or any column of `series()`.

        Of one pair of bodies (what acts on the first), or of all; into `axes`, or into a new figure.
        """
        return plotted(self, what, pair, axes)

    # -------------------------------------------------------------------------------------------- the whole run

    @property
    def header(self) -> dict[str, Any]:
        """Version, scene, seed and options as given to the recorder."""
        return self.entries[0].meta

    @property
    def status(self) -> str:
        """`finished`, `interrupted` or `failed`; `unfinished` for a run that goes on or was killed."""
        ends = self._at["end"]
        return str(self.entries[ends[-1]].meta["status"]) if ends else "unfinished"

    @property
    def message(self) -> str:
        """What was said at the end of the run."""
        ends = self._at["end"]
        return str(self.entries[ends[-1]].meta["message"]) if ends else ""

    @property
    def notes(self) -> list[str]:
        """What was decided and warned of on the way, said at the end of the run."""
        ends = self._at["end"]
        return [str(note) for note in self.entries[ends[-1]].meta.get("notes", [])] if ends else []

    @property
    def orders(self) -> list[Order]:
        """What was changed by hand, in the order of time; of a recording of `pliant live` also what was changed before it began."""
        return sorted((Order(**self.entries[i].meta) for i in self._at["order"]), key=lambda order: order.time)

    @property
    def last_scene(self) -> str:
        """The scene with all bodies that came while the run lasted, as TOML; empty if there is none."""
        models = self._at["model"]
        return str((self.entries[models[-1]].meta if models else {}).get("scene") or self.header.get("scene", ""))

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self._at["frame"])

    @property
    def times(self) -> Floats:
        """Time of each frame [s]."""
        return np.array([self.entries[i].meta["time"] for i in self._at["frame"]], dtype=np.float64)

    @property
    def steps(self) -> Ints:
        """Step number of each frame."""
        return np.array([self.entries[i].meta["step"] for i in self._at["frame"]], dtype=np.int64)

    def series(self) -> Table:
        """Numbers of every step: name -> one for each step; NaN, -1 or 0 where a step did not have it. `DataFrame(run.series())` works."""
        return Table(self._table("step"))

    def pairs(self) -> dict[str, Array]:
        """Sums per body pair and step: name -> one row each; `row` is the row of `series()` they belong to."""
        return self._table("pair")

    def pandas(self, a: str | None = None, b: str | None = None) -> DataFrame:
        """Contact per pair and step as a table of pandas: of a with b (acting on a, one row per step), or of all that touch."""
        from pliant.measure.pairs import pair_series, pair_table  # start-up: reading a run does not need the kernels

        if (a is None) != (b is None):
            raise PliantError("run.pandas takes the names of two bodies, or none for all pairs.")
        return data_frame(pair_table(self) if a is None or b is None else pair_series(self, a, b))

    def to_xarray(self, frames: Sequence[int] | None = None) -> Dataset:
        """Frames, cells, steps and pairs as labelled arrays with units; of chosen frames, or of all."""
        from pliant.record.arrays import dataset  # start-up: few ask for it

        return dataset(self, frames)

    # -------------------------------------------------------------------------------------------- one frame

    def index(self, i: int) -> int:
        """The number of a frame counted from the first; -1 is the last one."""
        if not self.frames:
            raise PliantError(f"{self.path} has no frames: the run ended before its first one")
        if not -self.frames <= i < self.frames:
            raise PliantError(f"{self.path} has no frame {i}: it has {self.frames}, counted from 0")
        return i % self.frames

    def points(self, i: int) -> Floats:
        """Points to draw in frame i [m], (P, 3)."""
        return self._frame(i).load("points")

    def cells(self, i: int) -> Cells:
        """What is drawn over them."""
        entry = self._before("topology", self._number(i))
        assert entry is not None  # a recorder refuses frames before the first topology
        arrays, meta = entry.record().arrays, entry.meta
        return Cells(**arrays, bodies=dict(meta["bodies"]), parents=dict(meta["parents"]))

    def topology_number(self, i: int) -> int:
        """Position among the records of what is drawn in frame i: equal numbers, equal cells."""
        return max(k for k in self._at["topology"] if k < self._number(i))

    def fields(self, i: int) -> dict[str, str]:
        """Names of the fields of frame i, each with `point` or `cell`."""
        split = [name.split("/", 1) for name in self._frame(i).specs if name.startswith(("point/", "cell/"))]
        return {name: where for where, name in split}

    def field(self, name: str, i: int) -> Array:
        """A field of frame i, one row per point or per cell."""
        known = self.fields(i)
        if name not in known:
            raise PliantError(f"frame {i} of {self.path} has no field {name!r}; it has {sorted(known) or 'none'}")
        return self._frame(i).load(f"{known[name]}/{name}")

    def contacts(self, a: str | None = None, b: str | None = None, t: float | None = None) -> Contacts:
        """Contacts of the frame at time t [s], or the last one before it (of the last frame unless given).

        All of them, those of body a, or those of a with b; with names given, forces act on a.
        """
        from pliant.contact.contacts import Contacts  # start-up: reading a run does not need the kernels

        i = self.frame_at(t)
        rows = Contacts.of_arrays(self.contact_rows(i))
        names = {name: number for number, name in self.cells(i).bodies.items()}
        for body in (a, b):
            if body is not None and body not in names:
                raise PliantError(f"{self.path} has no body '{body}': {nearest(body, names)}")
        return rows if a is None else rows.between(names[a], None if b is None else names[b])

    def frame_at(self, t: float | None = None) -> int:
        """The last frame at or before time t [s], or of the run."""
        if t is None:
            return self.index(-1)
        before = np.flatnonzero(self.times <= t * (1 + 1e-9) + 1e-12)
        if len(before) == 0:
            raise PliantError(f"{self.path} has no frame at or before t = {t:g} s: it has {self.frames} frames from {self.times[0]:g} s on")
        self.refuse_time(t)
        return int(before[-1])

    def refuse_time(self, t: float) -> None:
        """Refuse a time [s] that was not recorded: more than the distance of two frames before the first or after the last."""
        times = self.times
        slack = float(np.diff(times).max(initial=0.0)) + 1e-9 * abs(t) + 1e-12
        if not times[0] - slack <= t <= times[-1] + slack:
            raise PliantError(f"{self.path} has nothing at t = {t:g} s: its {len(times)} frames are from {times[0]:g} to {times[-1]:g} s")

    def contact_rows(self, i: int) -> dict[str, Array]:
        """The contact rows of frame i as they were recorded: name -> array."""
        entry = self._frame(i)
        names = [name for name in entry.specs if name.startswith("contact/")]
        return {name.removeprefix("contact/"): entry.load(name) for name in names}

    def frame_meta(self, i: int) -> dict[str, Any]:
        """Time, step and counts of frame i."""
        return self._frame(i).meta

    def frame_bytes(self, i: int) -> int:
        """Bytes of the arrays of frame i, unpacked."""
        return sum(spec.nbytes for spec in self._frame(i).specs.values())

    # -------------------------------------------------------------------------------------------- checkpoints

    def state(self, frame: int | None = None) -> Record:
        """The last checkpoint, or the last one at or before a frame."""
        return self.entries[self.state_number(frame)].record()

    def state_number(self, frame: int | None = None) -> int:
        """Position of that checkpoint among the records; one that is damaged is passed over."""
        if frame in self._whole:
            return self._whole[frame]
        latest = np.inf if frame is None else self._frame(frame).meta["time"]
        numbers = [i for i in self._at["state"] if self.entries[i].meta["time"] <= latest]
        good = next((i for i in reversed(numbers) if self._can_go_on(i)), None)
        if good is None:
            where = "" if frame is None else f" at or before frame {frame}"
            what = "checkpoint" if not numbers else f"whole checkpoint ({len(numbers)} are damaged)"
            raise PliantError(f"{self.path} has no {what}{where}, so it cannot be resumed from there; run it again")
        if good != numbers[-1]:
            lost = self.entries[numbers[-1]].title
            self.damage.append(f"{self.path} is damaged: the {lost} cannot be used, but the {self.entries[good].title} can.")
        self._whole[frame] = good
        return good

    @property
    def resumable(self) -> bool:
        """Whether there is a whole checkpoint to go on from."""
        return any(self._can_go_on(i) for i in reversed(self._at["state"]))

    def _can_go_on(self, number: int) -> bool:
        """Whether a checkpoint and its model are whole."""
        model = self._before("model", number)
        return whole(self.entries[number]) and (model is None or whole(model))

    def checkpoint_at(self, i: int) -> Record | None:
        """The checkpoint of the very step of frame i, if one was taken."""
        step = self._frame(i).meta["step"]
        numbers = [k for k in self._at["state"] if self.entries[k].meta["step"] == step]
        return self.entries[numbers[-1]].record() if numbers else None

    def model(self, frame: int | None = None) -> Record | None:
        """The model that the checkpoint of `state(frame)` belongs to, or None when none was recorded."""
        entry = self._before("model", self.state_number(frame))
        return None if entry is None else entry.record()

    # -------------------------------------------------------------------------------------------- inside

    def _number(self, i: int) -> int:
        return self._at["frame"][self.index(i)]

    def _frame(self, i: int) -> Entry:
        return self.entries[self._number(i)]

    def _before(self, kind: str, number: int) -> Entry | None:
        before = [i for i in self._at[kind] if i < number]
        return self.entries[before[-1]] if before else None

    def _table(self, table: str) -> dict[str, Array]:
        batches = []
        for i in self._at["step"]:
            entry = self.entries[i]
            names = [name for name in entry.specs if name.startswith(table + "/")]
            batches.append({name.split("/", 1)[1]: entry.load(name) for name in names})
        return stacked(batches)


def _reader(journal: Path, required: bool) -> JournalReader | None:
    """The journal, if there is one with records; `required` turns a bad one into an error."""
    try:
        reader = JournalReader(journal)
    except PliantError:
        if required and journal.exists():
            raise
        return None
    if reader.entries and (reader.entries[0].kind == "header" or required or reader.entries[0].number > 0):
        return reader
    reader.close()
    if required:
        raise DamageError(f"{journal} is damaged: its first record is broken, and there is no run file beside it")
    return None


def stacked(batches: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """Tables under each other; a column missing from one is filled with NaN, -1 (integers) or 0 (unsigned)."""
    sizes = [max((len(column) for column in batch.values()), default=0) for batch in batches]
    first = {name: batch[name] for batch in reversed(batches) for name in batch}
    order = list(dict.fromkeys(name for batch in batches for name in batch))
    result = {}
    for name in order:
        dtype = np.result_type(*[batch[name].dtype for batch in batches if name in batch])
        inner = first[name].shape[1:]
        parts = [
            batch[name] if name in batch else np.full((size, *inner), fill_value(dtype), dtype)
            for batch, size in zip(batches, sizes, strict=True)
        ]
        result[name] = np.concatenate(parts)
    return result


def flat_columns(table: dict[str, Array]) -> dict[str, Array]:
    """All columns, vectors split into components."""
    columns: dict[str, Array] = {}
    for name, values in table.items():
        columns |= split_columns(name, values)
    return columns


def data_frame(table: dict[str, Array]) -> DataFrame:
    """The same columns as a table of pandas."""
    try:
        import pandas
    except ImportError:
        raise PliantError("This needs pandas: pip install pandas.") from None
    return pandas.DataFrame(flat_columns(table))
