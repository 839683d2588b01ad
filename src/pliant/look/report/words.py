"""What a report says: facts of the run, bodies, pairs, warnings, and how to do it again."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.geometry.mesh import PliantError
from pliant.look.caption import length_words
from pliant.look.fields import PREFIXES
from pliant.look.report.hardest import Hardest
from pliant.look.report.html import code, facts, folded, listing, table, text
from pliant.measure.pairs import per_pair
from pliant.record import human
from pliant.scene import Body, Scene

if TYPE_CHECKING:
    from pliant.record import Run

MOST_BODIES = 60  # rows of the table of bodies; the others are counted
MOST_PAIRS = 40


def title(run: Run) -> str:
    """The name of what was simulated."""
    return str(run.header.get("name") or run.path.stem)


def scene_of(run: Run) -> Scene | None:
    """The scene in the run file; None if it is of another program or version."""
    try:
        return Scene.from_toml(run.header["scene"], "the scene in the run file")
    except (KeyError, PliantError):
        return None


def summary(run: Run) -> str:
    """Scene, method, dt, length, outcome and versions."""
    scene, header, series = scene_of(run), run.header, run.series()
    found: dict[str, str] = {}
    if scene is not None:
        if scene.about:
            found["scene"] = scene.about
        found |= {"contact method": _method(scene), "dt": f"{scene.dt:g} s", "gravity": _vector(scene.gravity, "m/s²")}
    found["simulated"] = f"{run.times[-1] - run.times[0]:.4g} s in {int(run.steps[-1])} steps, {run.frames} frames"
    if "dt" in series and len(series["dt"]) and np.nanmin(series["dt"]) < 0.999 * np.nanmax(series["dt"]):
        found["steps taken"] = f"from {np.nanmin(series['dt']):.3g} s to {np.nanmax(series['dt']):.3g} s"
    if "max_depth" in series:
        found["deepest contact"] = length_words(float(np.nanmax(series["max_depth"], initial=0.0)))
    seconds = sum(float(np.nansum(v)) for name, v in series.items() if name.startswith("seconds "))
    if seconds:
        found["time spent stepping"] = f"{seconds:.1f} s"
    found["end"] = run.status + (f": {run.message}" if run.message else "")
    found["recorded"] = f"{header.get('created', 'at an unknown time')} by pliant {header.get('pliant') or 'of an unknown version'}"
    found["run file"] = f"{run.path.name}, {human(run.path.stat().st_size)}" if run.path.exists() else run.path.name
    numpy, numba = np.__version__, version("numba")
    found["this report"] = f"pliant {version('pliant')}, Python {platform.python_version()}, NumPy {numpy}, Numba {numba}"
    return facts(found)


def _method(scene: Scene) -> str:
    from pliant.build import contact_of

    try:
        methods, why = contact_of(scene)
    except PliantError:  # a method of the user's own that is not here
        return str(scene.contact)
    options = {k: v for k, v in scene.contact.items() if k != "method"} if isinstance(scene.contact, dict) else {}
    given = f" with {', '.join(f'{k} = {v}' for k, v in options.items())}" if options else ""
    return ", ".join(methods.methods) + given + (" (chosen by pliant)" if why else "")


def _vector(values: tuple[float, ...], unit: str) -> str:
    return f"({', '.join(f'{v:g}' for v in values)}) {unit}"


def bodies(run: Run) -> str:
    """Model, shape and material of each body."""
    scene = scene_of(run)
    if scene is None:
        return text(f"The run does not hold its scene. Bodies: {', '.join(run.cells(-1).bodies.values())}.")
    rows = [(body.name, body.model, _shape(body.shape), _material(body), f"{body.friction:g}") for body in scene.bodies[:MOST_BODIES]]
    more = len(scene.bodies) - len(rows)
    found = table(("body", "model", "shape", "material", "friction"), rows, words=4)
    return found + (text(f"and {more} more bodies.") if more > 0 else "")


def _shape(shape: Any) -> str:
    if not isinstance(shape, dict):
        return "a mesh"
    name = str(shape.get("kind") or shape.get("file"))
    if name == "recorded":
        return f"{shape.get('name', 'a mesh')}, kept in the run file"
    return name + _options({k: v for k, v in shape.items() if k not in ("kind", "file")})


def _options(values: dict[str, Any]) -> str:
    return f" ({', '.join(f'{k} = {v}' for k, v in values.items())})" if values else ""


def _material(body: Body) -> str:
    material = body.material
    amount = lambda v, unit: with_unit(v, unit) if isinstance(v, float | int) else f"{with_unit(min(v), unit)} to {with_unit(max(v), unit)}"
    if body.model == "static":
        return "-"
    weight = f"{material.density:.4g} kg/m³" if isinstance(material.density, float | int) else amount(material.density, "kg/m³")
    if body.model == "rigid":
        return weight
    if body.model == "springs":
        return f"springs of {amount(material.spring_stiffness, 'N/m')}"
    law = material.response if body.model == "quasi-rigid" else material.law
    return f"{law}, E = {amount(material.youngs_modulus, 'Pa')}, ν = {material.poisson_ratio:g}, {weight}"


def with_unit(value: float, unit: str) -> str:
    """A number with a prefix that makes it short."""
    factor, letter = next((p for p in PREFIXES if abs(value) >= 0.9999 * p[0]), (1.0, ""))
    return f"{value / factor:.4g} {letter}{unit}"


def pairs(run: Run) -> str:
    """Peaks of each pair over the run, and its force at the end."""
    found, names = run.pairs(), run.cells(-1).bodies
    if "row" not in found or len(found["row"]) == 0:
        return text("Nothing touched anything.")
    time, last = run.series()["time"], len(run.series()["time"]) - 1
    key = found["a"] * (int(found["b"].max()) + 1) + found["b"]
    rows = []
    for k in np.unique(key):
        mine = key == k
        size = np.linalg.norm(found["force"][mine], axis=1)
        peak, end = int(np.argmax(size)), found["row"][mine] == last
        column = lambda name, mine=mine: float(np.nanmax(found[name][mine])) if name in found else np.nan
        a, b = (names.get(int(found[end_][mine][0]), "?") for end_ in ("a", "b"))
        rows.append((
            float(size[peak]), a, b, f"{time[found['row'][mine][0]]:.4g}", f"{size[peak]:.4g}", f"{time[found['row'][mine][peak]]:.4g}",
            f"{size[end][0]:.4g}" if end.any() else "apart", f"{1e4 * column('area'):.4g}", f"{1e-3 * column('pressure'):.4g}",
            f"{1e3 * column('depth'):.3g}",
        ))  # fmt: skip
    rows.sort(key=lambda row: -row[0])
    heads = ("body", "with", "first touch (s)", "largest force (N)", "at (s)", "at the end (N)", "largest area (cm²)",
             "peak pressure (kPa)", "deepest (mm)")  # fmt: skip
    shown = table(heads, [row[1:] for row in rows[:MOST_PAIRS]], words=2)
    return shown + (text(f"and {len(rows) - MOST_PAIRS} more pairs.") if len(rows) > MOST_PAIRS else "")


def hardest(run: Run, found: Hardest) -> str:
    """The hardest contact of the recorded frames in numbers, and that of all steps if it lies between frames."""
    sums = {name: value[0] for name, value in per_pair(found.contacts).items()}
    area, force = float(sums["area"]), float(np.linalg.norm(sums["force"]))
    mean = f", {with_unit(sums['normal_force'] / area, 'Pa')} on average over {1e4 * area:.3g} cm²" if area > 0 else ""
    peak = f", {with_unit(sums['pressure'], 'Pa')} at most" if sums["pressure"] > 0 else ""
    said = (
        f"{found.a} and {found.b} at t = {found.time:.4g} s: a force of {force:.4g} N ({sums['normal_force']:.4g} N along the normals, "
        f"friction {np.linalg.norm(sums['friction']):.3g} N) in {sums['contacts']} contacts{mean}{peak}, {1e3 * sums['depth']:.3g} mm deep."
    )
    all_steps = run.pairs()
    size = np.linalg.norm(all_steps["force"], axis=1) if "row" in all_steps else np.zeros(0)
    if size.max(initial=0.0) > 1.005 * force:
        k, names = int(np.argmax(size)), run.cells(-1).bodies
        ends = " and ".join(names.get(int(all_steps[end][k]), "?") for end in ("a", "b"))
        when = run.series()["time"][all_steps["row"][k]]
        said += f" Of all steps the hardest was that of {ends} at t = {when:.4g} s with {size[k]:.4g} N, between two frames."
    return text(said)


def warnings(run: Run) -> str:
    """What was said on the way, what broke first."""
    bad = [] if run.status == "finished" else [f"The run is {run.status}." + (f" {run.message}" if run.message else "")]
    if run.dropped_bytes:
        bad.append(f"The journal has a broken tail of {run.dropped_bytes} bytes, which was left out.")
    return listing(run.notes, bad) if run.notes or bad else text("None.")


def again(run: Run) -> str:
    """The commands, and the scene."""
    scene, name = str(run.header.get("scene", "")), title(run)
    if not scene:
        return text("The run does not hold its scene.")
    kept = 'kind = "recorded"' in scene
    lines = [f"pip install pliant=={run.header.get('pliant')}"]
    lines.append(f"pliant resume {run.path.name} --duration SECONDS    # goes on from its last checkpoint, bit for bit")
    if not kept:
        lines.append(f"pliant run {name}.toml    # the scene below, from the start")
    lines += [f"pliant view {run.path.name}    # look at it in the browser", f"pliant contacts {run.path.name}"]
    note = text("Meshes from files are kept in the run file; the scene below names them as recorded.") if kept else ""
    return code("\n".join(lines)) + note + folded("The scene", code(scene))
