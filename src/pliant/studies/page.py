"""The page of a study: one html file with its curves, maps and tables, which links to the runs that were kept."""

from __future__ import annotations

import base64
import io
from collections import Counter
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.disk import write_bytes, write_text
from pliant.look.report.html import beside, code, facts, figure, listing, page, section, table, text
from pliant.measure.watch import QUANTITIES
from pliant.studies import plots
from pliant.studies.find import Threshold

if TYPE_CHECKING:
    from pliant.studies.study import Results

MOST_ROWS = 200  # of the table on the page; the files have all
MOST_PICTURES = 60
THUMB = 320  # [pixels]
MOST_LINES_LIST = 20  # of what went wrong


def write_page(results: Results, path: Path) -> Path:
    """Write the page of a study."""
    study = results.study
    columns = _numbers(results)
    varying = [n for n in _parameters(results) if n in columns and len(np.unique(columns[n])) > 1]
    measures = [name for name in results.columns if name in columns and name not in _parameters(results) and name not in _OTHERS]
    logs = {name: each.log is not None for name, each in study.parameters.items()}
    parts = [text(study.about, "lead") if study.about else "", _summary(results)]
    if results.fit is not None:
        parts.append(section("What was fitted", _fit(results)))
    if results.indices:
        note = "Bars: the part of each measure's variance that a parameter causes alone, and together with others."
        drawn = _picture(results, "sensitivity", plots.bars(results.indices), "Sobol indices")
        parts.append(section("What the measures depend on", text(note, "quiet") + drawn))
    if results.thresholds:
        parts.append(section("Thresholds", _thresholds(results)))
    elif results.fit is None and varying and measures:
        parts.append(section("What was found", _found(results, columns, varying, measures, logs)))
    if len(varying) > 1 and measures and results.fit is None:
        drawn = plots.parallel(columns, varying, measures[:6])
        parts.append(section("All cases", _picture(results, "cases", drawn, "A line for each case; colours follow the last axis.")))
    parts += [_pictures(results), _wrong(results), section("Table", _table(results)), section("Files", _files(results))]
    return write_text(path, page(f"{study.named()}: a pliant study", [p for p in parts if p]))


_OTHERS = ("case", "seconds", "steps", "stepping", "seed")


def _parameters(results: Results) -> list[str]:
    return list(dict.fromkeys(name for case in results.cases for name in case.parameters))


def _numbers(results: Results) -> dict[str, Any]:
    """The columns that are numbers."""
    found = {}
    for name, values in results.columns.items():
        if values and all(isinstance(v, int | float | bool) or v is None for v in values):
            found[name] = np.array([np.nan if v is None else float(v) for v in values])
    return found


def _summary(results: Results) -> str:
    rows = results.rows
    states = Counter(row["status"] for row in rows)
    spent = sum(row["seconds"] for row in rows)
    study = results.study
    said = {"scene" if study.call is None else "function": study.scene if isinstance(study.scene, str) else study.named(),
            "cases": f"{len(rows)}: " + ", ".join(f"{count} {status}" for status, count in states.most_common()),
            "time of all cases": f"{spent:.1f} s, {spent / max(1, len(rows)):.2f} s each"}  # fmt: skip
    for name, each in study.parameters.items():
        values = each.values
        said[name] = ", ".join(map(str, values[:12])) + (" ..." if len(values) > 12 else "") if values is not None else (
            f"{each.bounds[0]:g} to {each.bounds[1]:g}" + (", equal ratios" if each.log else "") if each.bounds else "")  # fmt: skip
    versions = sorted({row["version"] for row in rows})
    return facts({**said, "pliant": ", ".join(versions), "processor": ", ".join(sorted({row["cpu"] for row in rows}))})


def _picture(results: Results, name: str, png: str, caption: str) -> str:
    """A picture of the page, which is also a file beside it."""
    write_bytes(results.folder / f"{name}.png", base64.b64decode(png))
    return f"<div style='margin-bottom: .8rem'>{figure(png, caption)}</div>"


def _found(results: Results, columns: dict[str, Any], varying: list[str], measures: list[str], logs: dict[str, bool]) -> str:
    """Curves and maps for one and two parameters, scatter for more."""
    labels = {name: _label(results, name) for name in measures} | _parameter_labels(results, varying)
    draw = lambda name, png, caption: _picture(results, name, png, caption)
    yes_no = lambda name: set(np.unique(columns[name][np.isfinite(columns[name])]).tolist()) <= {0.0, 1.0}
    x = max(varying, key=lambda name: len(np.unique(columns[name])))
    others = [name for name in varying if name != x]
    if not others:
        return draw("curves", plots.curves(columns, x, None, labels, measures, logs), f"Measures over {x}.")
    sampled = results.study.design in ("sobol", "latin-hypercube", "table")
    if len(others) == 1 and not sampled:
        y = others[0]
        lines = draw("curves", plots.curves(columns, x, y, labels, measures, logs), f"Measures over {x}, a line for each {y}.")
        told = f"The same as maps over {x} and {y}; dots: where cases were run."
        return lines + draw("map", plots.maps(columns, x, y, labels, measures, logs, yes_no), told)
    shown = [
        draw(f"scatter_{k}", plots.scatter(columns, varying, labels, name, logs), f"{name} against each parameter.")
        for k, name in enumerate(measures[:8], 1)
    ]
    if len(others) == 1:
        shown.append(draw("map", plots.maps(columns, x, others[0], labels, measures, logs, yes_no), f"Over {x} and {others[0]}."))
    return "".join(shown)


def _parameter_labels(results: Results, names: list[str]) -> dict[str, str]:
    """Parameters with their units."""
    scene = results.study.first_scene()
    units = {name: results.study.unit_of(name, scene) for name in names}
    return {name: f"{name} [{unit}]" if unit else name for name, unit in units.items()}


def _label(results: Results, name: str) -> str:
    """A measure with its unit."""
    measure = results.study.measures.get(name)
    if measure is None or measure.function:
        return name
    take, quantity, _, _ = measure.rule()
    unit = "s" if take == "when" else "1" if take == "ever" else QUANTITIES[quantity].unit
    unit = f"{unit} s" if take == "integral" and unit != "1" else unit
    return name if unit == "1" else f"{name} [{unit}]"


def _thresholds(results: Results) -> str:
    find, found = results.study.find, results.thresholds
    assert find is not None
    names = list(found[0].point)
    drawn = ""
    numeric = [n for n in names if all(isinstance(t.point[n], int | float) for t in found) and len({t.point[n] for t in found}) > 1]
    if numeric:
        x = max(numeric, key=lambda n: len({t.point[n] for t in found}))
        over = next((n for n in numeric if n != x), None)
        each = results.study.parameters.get(x)
        labels = _parameter_labels(results, [*numeric, find.parameter])
        png = plots.thresholds(found, x, over, find.parameter, labels, bool(each and each.log))
        drawn = _picture(results, "thresholds", png, f"Where \"{find.condition}\" changes.")
    cell = lambda value: f"{value:.5g}" if isinstance(value, float) else str(value)
    rows = [[*(cell(t.point[n]) for n in names), *_bracket(t)] for t in found]
    heads = [*names, find.parameter, "from", "to", "cases", "condition", "status"]
    return drawn + table(heads, rows, words=0)


def _bracket(t: Threshold) -> list[str]:
    side = {None: "", True: "true above", False: "true below"}[t.holds_above]
    number = lambda value: f"{value:.5g}" if t.status == "found" else ""
    return [number(t.value), f"{t.low:.5g}", f"{t.high:.5g}", str(t.cases), side, t.status + (f": {t.reason}" if t.reason else "")]


def _fit(results: Results) -> str:
    fit = results.fit
    assert fit is not None
    rows = []
    for k, name in enumerate(fit.names):
        profile = fit.profiles.get(name)
        lopsided = [f"{profile.low:.5g} to {profile.high:.5g}"] if profile else []
        rows.append([name, f"{fit.values[k]:.5g}", f"{fit.errors[k]:.2g}", f"{fit.low[k]:.5g} to {fit.high[k]:.5g}", *lopsided])
    heads = ["parameter", "value", "standard error", "95 % interval", *(["by profile"] if fit.profiles else [])]
    said = f"{fit.points} points, {fit.cases} cases, {fit.iterations} iterations; "
    if all(m.spec.noise is not None for m, _ in fit.curves):
        said += f"misfit {fit.misfit:.4g}, expected {fit.points - len(fit.names)}."
    else:
        said += f"noise of {fit.spread:.2%} of each curve's largest value."
    shown = listing([], fit.warnings) if fit.warnings else ""
    shown += table(heads, rows) + text(said, "quiet") + _picture(results, "fit", plots.fits(fit), "Fitted curves over the measured ones.")
    if len(fit.names) > 1:
        heads = ["correlation", *fit.names]
        shown += table(heads, [[name, *(f"{c:+.3f}" for c in fit.correlation[k])] for k, name in enumerate(fit.names)])
    if fit.profiles:
        told = "Profiles: where they leave the dashed line the uncertainty is lopsided."
        shown += _picture(results, "profiles", plots.profiles(fit), told)
    return shown


def _pictures(results: Results) -> str:
    """Thumbnails that lead to what was kept."""
    shown: list[str] = []
    for case in results.cases:
        result = results.results.get(case.key)
        if result is None or "png" not in result.files or len(shown) >= MOST_PICTURES:
            continue
        target = f"cases/{case.key}.{'vtkhdf' if 'vtkhdf' in result.files else 'png'}"
        said = ", ".join(f"{n} = {v:.4g}" if isinstance(v, float) else f"{n} = {v}" for n, v in case.parameters.items())
        png = _thumbnail(results.folder / "cases" / f"{case.key}.png")
        shown.append(f"<a href='{escape(target)}'>{figure(png, said)}</a>")
    return section("Pictures", beside(shown)) if shown else ""


def _thumbnail(path: Path) -> str:
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB")
        small.thumbnail((THUMB * 2, THUMB * 2))
        buffer = io.BytesIO()
        small.save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def _wrong(results: Results) -> str:
    bad = [f"case {row['case']}, {row['status']}: {row['reason']}" for row in results.rows if row["status"] != "finished"]
    more = [f"and {len(bad) - MOST_LINES_LIST} more, see the table"] if len(bad) > MOST_LINES_LIST else []
    return section("What did not finish", listing(more, bad[:MOST_LINES_LIST])) if bad else ""


def _table(results: Results) -> str:
    columns = {n: v for n, v in results.columns.items() if n not in ("version", "cpu", "key", "stepping", "reason")}
    cell = lambda value: "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)
    rows = [[cell(v) for v in row] for row in list(zip(*columns.values(), strict=True))[:MOST_ROWS]]
    cut = text(f"The first {MOST_ROWS} of {len(results.cases)}; the files have all.", "quiet") if len(results.cases) > MOST_ROWS else ""
    return cut + table(list(columns), rows)


def _files(results: Results) -> str:
    names = sorted(p.name for p in results.folder.iterdir() if p.suffix in (".csv", ".parquet", ".json", ".jsonl", ".png"))
    links = "".join(f"<li><a href='{escape(name)}'>{escape(name)}</a></li>" for name in names)
    return f"<ul>{links}</ul>" + code(f"import pandas\ntable = pandas.read_csv({str(results.folder / 'table.csv')!r})")
