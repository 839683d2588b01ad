"""Results of validation as a table for people, JSON for programs, plots, and a page for the docs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pliant.disk import make_folder, write_text
from pliant.look.plots import Bar, Panel, against_theory
from pliant.shop.validate import Check, Result, asked, problems
from pliant.shop.validate.known import KNOWN, LOOSER

HEAD = """# Validation

What theory says and what comes out here, made by `pliant validate --out FOLDER` and nothing else: started again with the same folder it
goes on with what is missing, `--within 1h` ends it after an hour, and 0s writes the page of what is there. An error is relative to the
reference, or to the scale named with it. What fails is shown as failing, with the reason where it is known. Under `quasi-rigid` bodies that
are soft or rigid elsewhere are quasi-rigid; what rests and slides takes implicit steps.
"""


def facts(results: list[Result]) -> list[dict[str, Any]]:
    """One dictionary for each problem under each method."""
    return [
        {
            "problem": r.problem.name, "about": r.problem.about, "source": r.problem.source, "method": r.method, "passed": r.passed,
            "seconds": r.seconds, "quick": r.quick, "version": r.version, "failure": r.failure, "checks": [_numbers(c) for c in r.checks],
        }
        for r in results
    ]  # fmt: skip


def _numbers(check: Check) -> dict[str, Any]:
    names = ("what", "reference", "here", "unit", "error", "tolerance", "passed", "why")
    plain = {name: getattr(check, name) for name in names}
    return {name: value.item() if hasattr(value, "item") else value for name, value in plain.items()}  # NumPy's numbers are not JSON


def lines(result: Result) -> list[tuple[str, str, str, str, str, str]]:
    """Rows of the table for people: what, reference, here, error, tolerance, verdict."""
    if result.failure:
        return [(result.failure, "", "", "", "", "failed")]
    return [
        (c.what, f"{c.reference:.5g} {c.unit}".strip(), f"{c.here:.5g}", f"{c.error:.1e}", f"{c.tolerance:.1g}",
         "pass" if c.passed else "FAIL" + (f": {c.why}" if c.why else ""))
        for c in result.checks
    ]  # fmt: skip


def page(results: list[Result], now: str = "") -> str:
    """The page for the docs: a summary of problems by methods, then every number; `now`: the version of this code."""
    by = {(r.problem.name, r.method): r for r in results}
    chosen = list(dict.fromkeys(r.problem.name for r in results))
    methods = list(dict.fromkeys(r.method for r in results))
    known = problems(chosen)
    passed = sum(c.passed for r in results for c in r.checks)
    total = sum(max(1, len(r.checks)) for r in results)
    text = [HEAD, _about(results, now), f"{passed} of {total} checks pass; {len(chosen)} problems.\n"]
    text += ["| problem | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for name in chosen:
        cells = [_cell(by.get((name, m)), now) for m in methods]
        text.append(f"| [{name}](#{name}) | " + " | ".join(cells) + " |")
    text.append("\nA cell is the largest error over its tolerance (1 is just met), or `-` where the method is not asked.\n")
    for name in chosen:
        text += [f"## {name}\n", f"{known[name].about} Source: {known[name].source}.\n"]
        text += [f"* `{method}` is not asked: {why}" for method, why in known[name].refused.items()]
        if name in LOOSER:
            text.append(f"* bars above 2 % (5 of peak pressures, 10 of areas): {LOOSER[name]}")
        text += ["\n| method | what | reference | here | error | tolerance | verdict |", "|---|---|---|---|---|---|---|"]
        for (problem, method), result in by.items():
            if problem == name:
                text += [f"| {method}{_mark(result, now)} | " + " | ".join(row) + " |" for row in lines(result)]
        text += ["", f"![{name}: theory and what comes out here](pictures/validation/{name}.png)", ""]
    return "\n".join(text + _known(by))


def _known(by: dict[tuple[str, str], Result]) -> list[str]:
    """What is known to miss its bar and is not on the page, and how much else is not."""
    missing = [(each.name, method) for each, method in asked() if (each.name, method) not in by]
    if not missing:
        return []
    count = Counter(method for _, method in missing)
    text = ["## Not run here\n", f"{len(missing)} of {len(asked())}: " + ", ".join(f"`{m}` {n}" for m, n in count.items()) + " problems."]
    text.append("Of these are known to miss their bars, by slow tests with `--quick`:\n")
    text += ["| problem | method | why |", "|---|---|---|"]
    return [*text, *(f"| {name} | {method} | {why} |" for (name, method), why in KNOWN.items() if (name, method) in missing), ""]


def _about(results: list[Result], now: str) -> str:
    """Mode, version and duration of what is on the page."""
    quick, versions = sum(r.quick for r in results), list(dict.fromkeys(r.version for r in results if r.version))
    mode = "quick (coarser meshes, fewer settings)" if quick == len(results) else "full"
    if 0 < quick < len(results):
        mode = f"full, but {quick} of {len(results)} quick: those marked so"
    hours = sum(r.seconds for r in results) / 3600.0
    older = f" (rows marked * are not of {now})" if any(r.version != now for r in results) else ""
    of = ", ".join(sorted(versions, key=lambda each: each != now)) or "unknown"
    return f"Mode: {mode}. Version: {of}{older}. Duration: {hours:.2g} hours of CPU on one core.\n"


def _mark(result: Result, now: str) -> str:
    """What is to be said of a row that is not of a full run of this code."""
    return (" (quick)" if result.quick else "") + ("*" if result.version != now else "")


def _cell(result: Result | None, now: str) -> str:
    if result is None:
        return "-"
    if result.failure:
        return "**failed**"
    worst = max((c.error / c.tolerance if c.tolerance > 0.0 else float(c.error > 0.0) for c in result.checks), default=0.0)
    return (f"{worst:.2g}" if result.passed else f"**{worst:.2g}**") + _mark(result, now)


def write(results: list[Result], folder: Path, now: str = "") -> list[Path]:
    """results.json, validation.md and one plot for each problem: its numbers against theory, and its curves."""
    pictures = folder / "pictures" / "validation"
    make_folder(pictures)
    numbers = write_text(folder / "results.json", json.dumps(facts(results), indent=2) + "\n")
    written = [numbers, write_text(folder / "validation.md", page(results, now))]
    for name in dict.fromkeys(r.problem.name for r in results):
        mine = [r for r in results if r.problem.name == name]
        written.append(against_theory(name, *drawn(mine), pictures / f"{name}.png"))
    return written


def drawn(results: list[Result]) -> tuple[list[Panel], list[Bar]]:
    """What the plot of a problem shows: a panel for each curve and each row of checks, bars for what is neither."""
    curves: dict[str, Panel] = {}
    rows: dict[str, list[tuple[str, Check]]] = {}
    bars: dict[str, Bar] = {}
    for r in results:
        for c in r.checks:
            if c.curve is not None:
                along, x, here, theory = c.curve
                curves.setdefault(c.what, Panel(f"behind: {c.what}", along, (x, theory))).points[r.method] = (x, here)
            if c.at is not None:
                rows.setdefault(c.at[0], []).append((r.method, c))
            elif c.curve is None:
                bars.setdefault(c.what, _bar(c)).here[r.method] = _share(c)
    return [*(_panel(what, found) for what, found in rows.items()), *curves.values()], list(bars.values())


def _panel(what: str, found: list[tuple[str, Check]]) -> Panel:
    """A row of checks under some methods: their references are the line of theory."""
    checks = [c for _, c in found]
    x, theory = [c.at[2] for c in checks if c.at is not None], [c.reference for c in checks]
    wide = [c.tolerance * (abs(c.reference) if c.scale is None else c.scale) for c in checks]
    band = ([t - w for t, w in zip(theory, wide, strict=True)], [t + w for t, w in zip(theory, wide, strict=True)])
    along = checks[0].at[1] if checks[0].at is not None else ""
    panel = Panel(_with_unit(what, checks[0].unit), along, (x, theory), band)
    for method in dict.fromkeys(m for m, _ in found):
        mine = [c for m, c in found if m == method]
        panel.points[method] = ([c.at[2] for c in mine if c.at is not None], [c.here for c in mine])
    return panel


def _with_unit(what: str, unit: str) -> str:
    return f"{what} [{unit}]" if unit else what


def _bar(check: Check) -> Bar:
    """Theory is 1, with its tolerance about it; where it is 0, what is tolerated is 1."""
    if check.reference == 0.0:
        return Bar(check.what, 0.0, 1.0, {})
    return Bar(check.what, 1.0, check.tolerance * (1.0 if check.scale is None else check.scale / abs(check.reference)), {})


def _share(check: Check) -> float:
    """Of theory, or of what is tolerated."""
    if check.reference != 0.0:
        return check.here / check.reference
    most = check.tolerance * (1.0 if check.scale is None else check.scale)
    return check.here / most if most > 0.0 else float(check.here)
