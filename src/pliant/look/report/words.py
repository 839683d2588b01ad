"""What a report says: facts of the run, bodies, pairs, warnings, and how to do it again.

What a report says of a run that was changed by hand while it ran: a recording of `pliant live`.
"""

from __future__ import annotations

import platform
from collections.abc import Collection
from importlib.metadata import version
from typing import Any

import numpy as np

from pliant.base import PliantError
from pliant.contact.choice import RULES
from pliant.look.caption import length_words
from pliant.look.fields import PREFIXES
from pliant.look.report.hardest import Hardest
from pliant.look.report.html import code, facts, folded, listing, table, text
from pliant.measure.account import pair_books
from pliant.measure.forces import Forces, Peak, headline, milliseconds
from pliant.measure.pairs import STEP_WORDS, at_time, of_frame, per_pair
from pliant.record import Run, human
from pliant.record.snapshot import thaw
from pliant.scene import Body, Scene
from pliant.simulate.contact_rule import classic_if_old, contact_of, rule_name
from pliant.simulate.verdicts import FAILED

MOST_BODIES = 60  # rows of the table of bodies; the others are counted
MOST_PAIRS = 40
MOST_ADVISED = 8  # pairs of which it is said what would resolve them better
PREFIXED = ("Pa", "N/m")  # units that are written with kilo, mega and so on
WHAT = (
    "pliant simulates contact between soft, quasi-rigid and rigid bodies and measures it: "
    "where they touch, how hard, and what it did to them."
)
RESOLVED = (
    "Forces are means over the time that a wave needs through the smaller body, or that a rigid one needs to fall by its size. "
    "Depth, time and space say how far pressures, areas and forces are to be trusted: resolved, coarse or not resolved."
)
CHOICES = ('contact = "', " is integrated with the ")  # how notes begin, or what they hold, that tell what pliant chose: no reason to worry
ANGLES, PLAIN = {"angle", "opening"}, {"ridge", "links", "sides", "levels", "name", "wavy_floor"}  # of shapes; the others are lengths


def title(run: Run) -> str:
    """The name of what was simulated."""
    return str(run.header.get("name") or run.path.stem)


def lead(run: Run) -> str:
    """What this page is about, and the result, in a few sentences."""
    series, names, forces = run.series(), run.cells(-1).bodies, Forces(run)
    said = [note for note in run.notes if note.startswith(FAILED)]
    strongest = forces.strongest()
    said.append("Nothing touched anything." if strongest is None else headline(strongest))
    said.append(f"{len(names)} bodies were simulated for {run.times[-1] - run.times[0]:.4g} s; the run {_ending(run)}.")
    if strongest is not None:
        depth = length_words(float(np.nanmax(series["max_depth"], initial=0.0)))
        end = int(np.count_nonzero(forces.pairs["row"] == len(series["time"]) - 1))
        said.append(f"Contacts were at most {depth} deep, and {end} pair{'' if end == 1 else 's'} touched at the end.")
    if _balance(series):
        said.append(f"Proof: {_balance(series)}.")
    if run.header.get("live"):
        said.append(sentence(run))
    count = len(_split(run)[0])
    if strongest is not None and (doubts := _doubts(strongest)):
        said.append(f"Of the hardest contact {doubts}: what helps is said with the pairs.")
    said.append("There are no warnings." if count == 0 else f"Warnings, see below: {count}.")
    return text(" ".join(said), "lead") + text(WHAT, "quiet")


def _doubts(found: Peak) -> str:
    """Of which of its numbers the table of pairs has another word than resolved, but for time, of which the headline speaks."""
    seen, words = found.resolution, ("coarse", "not resolved")
    told = [("depths", seen.in_depth), ("areas and pressures", seen.in_space)]
    return " and ".join(f"{what} are {word}" for what, word in told if word in words)


def _ending(run: Run) -> str:
    return {"finished": "reached its end", "interrupted": "was interrupted", "failed": "failed"}.get(run.status, f"is {run.status}")


def _balance(series: dict[str, np.ndarray]) -> str:
    """How well the contacts account for momenta, in words; nothing if the run does not say it."""
    known = series.get("imbalance", np.zeros(0))
    known = known[np.isfinite(known)]
    if len(known) == 0:
        return ""
    return f"the contact impulses account for the momentum of every body to {known.max():.1g} of their size in every step"


def scene_of(run: Run) -> Scene | None:
    """The scene in the run file; None if it is of another program or version."""
    try:
        return classic_if_old(Scene.recorded(run.header["scene"]), run.header)
    except (KeyError, PliantError):
        return None


def summary(run: Run) -> str:
    """Scene, method, dt, length, outcome and versions."""
    scene, header, series = scene_of(run), run.header, run.series()
    found: dict[str, str] = {}
    if scene is not None:
        if scene.about:
            found["scene"] = scene.about
        given = {"contact method": method_words(scene, run.notes), "dt": f"{scene.dt:g} s", "gravity": _vector(scene.gravity, "m/s²")}
        found |= {name: value + later(run, name) for name, value in given.items()}
    found["simulated"] = f"{run.times[-1] - run.times[0]:.4g} s in {int(run.steps[-1])} steps, {run.frames} frames"
    if "dt" in series and len(series["dt"]) and np.nanmin(series["dt"]) < 0.999 * np.nanmax(series["dt"]):
        found["steps taken"] = f"from {np.nanmin(series['dt']):.3g} s to {np.nanmax(series['dt']):.3g} s"
    if "max_depth" in series:
        found["deepest contact"] = length_words(float(np.nanmax(series["max_depth"], initial=0.0)))
    if _balance(series):
        found["momentum balance"] = _balance(series)
    if "lost" in series and np.isfinite(series["lost"]).any():
        lost = float(series["lost"][np.isfinite(series["lost"])][-1])
        found["energy balance"] = f"{lost:.3g} J lost by flow, damping, integration" if lost >= 0.0 else f"{-lost:.3g} J came from nowhere"
    seconds = sum(float(np.nansum(v)) for name, v in series.items() if name.startswith("seconds "))
    if seconds:
        found["time spent stepping"] = f"{seconds:.1f} s"
    found["end"] = run.status + (f": {run.message}" if run.message else "")
    found["recorded"] = f"{header.get('created', 'at an unknown time')} by pliant {header.get('pliant') or 'of an unknown version'}"
    found["run file"] = f"{run.path.name}, {human(run.path.stat().st_size)}" if run.path.exists() else run.path.name
    numpy, numba = np.__version__, version("numba")
    found["this report"] = f"pliant {version('pliant')}, Python {platform.python_version()}, NumPy {numpy}, Numba {numba}"
    return facts(found)


def method_words(scene: Scene, notes: list[str]) -> str:
    """The methods that bodies of a run have, as its notes tell, and who chose them."""
    rule = rule_name(scene)
    try:
        methods = list(contact_of(scene).methods)
    except PliantError:  # a method of the user's own that is not here
        return str(scene.contact)
    options = {k: v for k, v in scene.contact.items() if k != "method"} if isinstance(scene.contact, dict) else {}
    given = f" with {', '.join(f'{k} = {v}' for k, v in options.items())}" if options else ""
    taken = [name for name in methods if any(note.startswith(f"contact = \"{rule}\": {name}") for note in notes)]
    return ", ".join(taken or methods) + given + (f" (chosen by {rule}: see the notes)" if rule in RULES else "")


def _vector(values: tuple[float, ...], unit: str) -> str:
    return f"({', '.join(f'{v:g}' for v in values)}) {unit}"


def bodies(run: Run) -> str:
    """Model, shape and material of each body."""
    scene = scene_of(run)
    if scene is None:
        return text(f"The run does not hold its scene. Bodies: {', '.join(run.cells(-1).bodies.values())}.")
    there = {body.name for body in scene.bodies}
    known = [*scene.bodies, *came_later(run, there)]
    named = lambda body: body.name + ("" if body.name in there else " (dropped while it ran)")
    rows = [(named(body), body.model, _shape(body.shape), _material(body), f"{body.friction:g}") for body in known[:MOST_BODIES]]
    more = len(known) - len(rows)
    found = table(("body", "model", "shape", "material", "friction"), rows, words=4)
    found += text(f"and {more} more bodies.") if more > 0 else ""
    return found + (text("Values are those of the beginning; what was changed is said above.", "quiet") if run.orders else "")


def _shape(shape: Any) -> str:
    if not isinstance(shape, dict):
        return "a mesh"
    name = str(shape.get("kind") or shape.get("file"))
    if name == "recorded":
        return f"{shape.get('name', 'a mesh')}, kept in the run file"
    options = {k: v for k, v in shape.items() if k not in ("kind", "file")}
    given = [f"{k} = {v}" + (_unit(k, v) if "kind" in shape else "") for k, v in options.items()]
    return name + (f" ({', '.join(given)})" if given else "")


def _unit(name: str, value: Any) -> str:
    """Of a parameter of a shape that ships with pliant."""
    if name in PLAIN or isinstance(value, str | bool) or value is None:
        return ""
    return "°" if name in ANGLES else " m"


def _material(body: Body) -> str:
    return ", ".join(part if isinstance(part, str) else part[0] + _amount(*part[1:]) for part in body.made_of()) or "-"


def _amount(value: float | list[float], unit: str) -> str:
    """A number, or from the smallest to the largest of a list."""
    shown = with_unit if unit in PREFIXED else lambda number, unit: f"{number:.4g} {unit}"
    return f"{shown(min(value), unit)} to {shown(max(value), unit)}" if isinstance(value, list) else shown(value, unit)


def with_unit(value: float, unit: str) -> str:
    """A number with a prefix that makes it short."""
    factor, letter = next((p for p in PREFIXES if abs(value) >= 0.9999 * p[0]), (1.0, ""))
    return f"{value / factor:.4g} {letter}{unit}"


def pairs(run: Run) -> str:
    """Peaks of each pair over the run, its force at the end, how well it is resolved, and its account."""
    forces = Forces(run)
    found, last = forces.pairs, len(forces.time) - 1
    if len(forces.ends) == 0:
        return text("Nothing touched anything.")
    number = {name: body for body, name in forces.names.items()}
    rows, peaks = [], forces.all()
    for peak in peaks:
        mine = (found["a"] == number.get(peak.a, -1)) & (found["b"] == number.get(peak.b, -1))
        column = lambda name, mine=mine: float(np.nanmax(found[name][mine], initial=0.0)) if name in found else np.nan
        end = np.linalg.norm(found["force"][mine & (found["row"] == last)], axis=1)
        told = peak.resolution
        rows.append((
            peak.a, peak.b, f"{peak.first:.4g}", f"{peak.mean:.4g}", milliseconds(peak.window), f"{peak.at:.4g}", f"{peak.peak:.4g}",
            f"{end[0]:.4g}" if len(end) else "apart", f"{1e4 * column('area'):.4g}", f"{1e-3 * column('pressure'):.4g}",
            f"{1e3 * column('depth'):.3g}", ", ".join(word or "-" for word in (told.in_depth, told.in_time, told.in_space)),
        ))  # fmt: skip
    heads = ("body", "with", "first touch (s)", "largest force (N)", "mean over", "until (s)", "one step (N)", "at the end (N)",
             "largest area (cm²)", "largest pressure (kPa)", "deepest (mm)", "resolved in depth, time, space")  # fmt: skip
    shown = table(heads, rows[:MOST_PAIRS], words=2)
    more = text(f"and {len(rows) - MOST_PAIRS} more pairs.") if len(rows) > MOST_PAIRS else ""
    advice = listing([advice for peak in peaks[:MOST_ADVISED] for advice in peak.advice])
    return shown + more + text(RESOLVED, "quiet") + advice + _accounts(run)


def _accounts(run: Run) -> str:
    """Work of contact between every two bodies."""
    try:
        kept = thaw(dict((record := run.state()).arrays), record.meta).pairs
    except (PliantError, KeyError):  # no checkpoint, or one of another program
        return ""
    names = run.cells(-1).bodies
    booked = pair_books(kept, [names.get(k, str(k)) for k in range(max(names, default=-1) + 1)])
    rows = [
        (pair.a, pair.b, str(pair.touches), f"{pair.normal:.3g}", f"{pair.friction:.3g}", f"{pair.gain:.3g}", f"{pair.before:.3g}",
         f"{pair.after:.3g}") for pair in booked[:MOST_PAIRS]
    ]  # fmt: skip
    heads = ("body", "with", "touches", "work along normals (J)", "work of friction (J)", "given back beyond it (J)",
             "kinetic energy before the last touch (J)", "after it (J)")  # fmt: skip
    return table(heads, rows, words=2) if rows else ""


def hardest(run: Run, found: Hardest) -> str:
    """The hardest contact of the recorded frames in a sentence, and that of all steps if it lies between frames."""
    force = float(np.linalg.norm(per_pair(found.contacts)["force"][0]))
    said = f"{found.a} and {found.b} at t = {found.time:.4g} s: a force of {force:.4g} N."
    all_steps = run.pairs()
    size = np.linalg.norm(all_steps["force"], axis=1) if "row" in all_steps else np.zeros(0)
    if size.max(initial=0.0) > 1.005 * force:
        k, names = int(np.argmax(size)), run.cells(-1).bodies
        ends = " and ".join(names.get(int(all_steps[end][k]), "?") for end in ("a", "b"))
        when = run.series()["time"][all_steps["row"][k]]
        said += (
            f" Of all steps the hardest was that of {ends} at t = {when:.4g} s with {size[k]:.4g} N, between two frames: "
            "its force is known, but not where it acted, so it has no map."
        )
    return text(said)


def numbers(run: Run, found: Hardest) -> str:
    """The hardest contact of the recorded frames as a table."""
    sums = {name: value[0] for name, value in of_frame(run, found.contacts).items()}
    area = float(sums["area"])
    shown = {
        "pair": f"{found.a}, {found.b}", "time": f"{found.time:.4g} s", "force": f"{np.linalg.norm(sums['force']):.4g} N",
        "along the normals": f"{sums['normal_force']:.4g} N", "friction": f"{np.linalg.norm(sums['friction']):.3g} N",
        "contacts": f"{sums['contacts']}", "deepest": f"{1e3 * sums['depth']:.3g} mm",
    }  # fmt: skip
    if area > 0.0:
        of = " (over a face of an element, which is more than the area)" if sums["over_a_face"] else ""
        shown |= {"area": f"{1e4 * area:.3g} cm²", "mean pressure": with_unit(sums["mean_pressure"], "Pa") + of}
    if sums["pressure"] > 0.0:
        shown["largest pressure"] = with_unit(sums["pressure"], "Pa")
    step = next((row for ends, row in at_time(run, found.time).items() if set(ends) == {found.a, found.b}), {})
    if STEP_WORDS[0] in step:
        shown["resolved in this step in depth, time, space"] = ", ".join(str(step[name]) or "-" for name in STEP_WORDS)
    return facts(shown)


def _split(run: Run) -> tuple[list[str], list[str]]:
    """What was said on the way: warnings, and notes about choices."""
    harmless = [note for note in run.notes if note.startswith(CHOICES[0]) or CHOICES[1] in note]
    bad = [] if run.status == "finished" else [f"The run is {run.status}." + (f" {run.message}" if run.message else "")]
    if run.dropped_bytes:
        bad.append(f"The journal has a broken tail of {run.dropped_bytes} bytes, which was left out.")
    bad += run.damage
    return bad + [note for note in run.notes if note not in harmless], harmless


def warnings(run: Run) -> str:
    """What went wrong or may have."""
    bad = _split(run)[0]
    return listing([], bad) if bad else text("None.")


def notes(run: Run) -> str:
    """What pliant chose; no reason to worry."""
    harmless = _split(run)[1]
    return text("What pliant chose by itself. Nothing here is wrong.", "quiet") + listing(harmless) if harmless else text("None.")


def again(run: Run) -> str:
    """The commands, and the scene."""
    scene, name = str(run.header.get("scene", "")), title(run)
    if not scene:
        return text("The run does not hold its scene.")
    kept = 'kind = "recorded"' in scene
    lines = [f"pip install .    # in a checkout of pliant {run.header.get('pliant') or ''}".rstrip()]
    lines.append(f"pliant resume {run.path.name} --duration SECONDS    # goes on from its last checkpoint, bit for bit")
    alone = scene_is_enough(run)
    if not kept and alone:
        lines.append(f"pliant run {name}.toml    # the scene below, from the start")
    lines += [f"pliant view {run.path.name}    # look at it in the browser", f"pliant contacts {run.path.name}"]
    note = "" if alone else text(ALONE)
    note += text("Meshes from files are kept in the run file; the scene below names them as recorded.") if kept else ""
    return code("\n".join(lines)) + note + folded("The scene", code(scene))


ALONE = (
    "This run cannot be repeated from its scene alone: it was recorded in the browser, with what was done there by hand. The scene below "
    "has the settings at the beginning of the recording, but bodies at the places where the scene begins."
)


def sentence(run: Run) -> str:
    """How much was changed."""
    count = sum(not order.early for order in run.orders)
    often = {0: "nothing was changed by hand", 1: "one thing was changed by hand, see below"}
    return f"It was recorded in the browser, where {often.get(count, f'{count} things were changed by hand, see below')}."


def later(run: Run, what: str) -> str:
    """What became of a setting while the run lasted; empty if nothing did."""
    changes = [f"{order.after} from t = {order.time:.4g} s" for order in run.orders if order.what == what and not order.early]
    return f" at the start, then {', then '.join(changes)}" if changes else ""


def changed(run: Run) -> str:
    """A table of what was changed, in the order of time; empty if nothing was."""
    orders = run.orders
    if not orders:
        return ""
    rows = [(str(k), order.when + (" *" if order.early else ""), order.what, order.change) for k, order in enumerate(orders, 1)]
    early = " * Before the recording began." if any(order.early for order in orders) else ""
    told = text(f"The numbers are those of the marks on the curves.{early}", "quiet")
    return told + table(("", "time (s)", "what", "from → to"), rows, words=4)


def came_later(run: Run, there: Collection[str]) -> list[Body]:
    """Bodies that were not there at the beginning."""
    try:
        return [body for body in Scene.recorded(run.last_scene).bodies if body.name not in there]
    except PliantError:  # of another version
        return []


def scene_is_enough(run: Run) -> bool:
    """Whether a run of the scene gives this run: not if hands were in it, or if it began in the middle."""
    return not run.header.get("live") or not (run.orders or run.steps[0] > 0)
