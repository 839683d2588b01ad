"""A page for each source: every experiment with its verdicts, and every figure beside what the source has there."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path

from pliant.disk import write_text
from pliant.look.report.html import page, section, text
from pliant.shop.reproduce import experiments, source
from pliant.shop.reproduce.crew import Found, found_in
from pliant.shop.reproduce.experiment import Experiment, Figure
from pliant.shop.reproduce.verdict import AGREES, DIFFERS, SHOWN, SKIPPED, Line

COLOURS = {AGREES: "#1b7f3b", DIFFERS: "#b3261e", SHOWN: "#69707d", SKIPPED: "#69707d"}
HEADS = ("what", "published", "here", "asked", "verdict", "why, and what is open")
NAME = "page.html"


def write_page(name: str, folder: Path) -> Path:
    """FOLDER/page.html from what FOLDER/results.json has; one file with all pictures in it."""
    results = {found.id: found for found in found_in(folder)}
    known = experiments(name)
    parts = [text((source(name).__doc__ or "").split("\n\n")[0], "lead"), text(summary(results.values()), "lead")]
    parts += [section(i, _experiment(known[i], results[i], folder)) for i in known if i in results]
    missing = [i for i in known if i not in results]
    if missing:
        parts.append(text(f"Not run: {', '.join(missing)}.", "quiet"))
    path = folder / NAME
    write_text(path, page(f"{name}: published, and computed again", parts))
    return path


def write_index(folder: Path, names: list[str]) -> Path:
    """FOLDER/index.html: what came of each source, with a link to its page."""
    rows = []
    for name in names:
        found = found_in(folder / name)
        seconds = sum(each.seconds for each in found)
        link = f"<a href='{escape(name)}/{NAME}'>{escape(name)}</a>"
        rows.append(f"<tr><td>{link}</td><td>{escape(summary(found))}</td><td class='number'>{seconds / 60:.1f} min of CPU</td></tr>")
    body = f"<div class='wide'><table>{''.join(rows)}</table></div>"
    path = folder / "index.html"
    write_text(path, page("The sources, computed again", [body]))
    return path


def compiling(found: Found) -> str:
    """What of the time went to the compiler, if it is worth a word."""
    return f", {found.compiling:.0f} of them compiling" if found.compiling >= 0.5 else ""


def summary(results: Iterable[Found]) -> str:
    """How many lines agree, differ, and are shown only."""
    found = list(results)
    counts = Counter(line.verdict for each in found for line in each.lines)
    failed = [each.id for each in found if each.failed]
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (AGREES, DIFFERS, SHOWN, SKIPPED) if counts[verdict])
    return f"{len(found)} experiments: {said or 'no lines'}" + (f"; did not end: {', '.join(failed)}" if failed else "") + "."


def _experiment(experiment: Experiment, found: Found, folder: Path) -> str:
    how = f"{'Quick form, ' if found.quick else ''}{found.seconds:.0f} s of CPU{compiling(found)}."
    own = "".join(f" {part} is {Path(file).name}." for part, file in found.scans.items())
    parts = [text(experiment.about), text(how + own, "quiet")]
    if found.failed:
        parts.append(text(f"It did not end: {found.failed}"))
    parts.append(_table([line for line in found.lines if line.verdict != SKIPPED]))
    skipped = sum(line.verdict == SKIPPED for line in found.lines)
    if skipped:
        parts.append(text(f"{skipped} more lines are asked of the whole experiment only.", "quiet"))
    parts += [_figure(figure, folder) for figure in experiment.figures if not (figure.whole and found.quick)]
    return "".join(parts)


def _table(lines: list[Line]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in HEADS)
    rows = []
    for line in lines:
        cells = (line.what, line.published, line.here, line.tolerance or "-")
        verdict = f"<td style='color: {COLOURS[line.verdict]}; font-weight: 600'>{escape(line.verdict)}</td>"
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + verdict + f"<td>{escape(line.why)}</td></tr>")
    return f"<div class='wide'><table><tr>{head}</tr>{''.join(rows)}</table></div>" if rows else ""


def _figure(figure: Figure, folder: Path) -> str:
    """The picture on the left, what it shows and what the source has there on the right."""
    path = folder / figure.file
    words = text(figure.shows) + (text(f"In the source: {figure.source}", "quiet") if figure.source else "")
    if not path.exists():
        return text(f"{figure.file} was not drawn. {figure.shows}", "quiet")
    data = base64.b64encode(path.read_bytes()).decode()
    image = f"<figure><img alt='{escape(figure.shows)}' src='data:image/png;base64,{data}'></figure>"
    return f"<div style='display: grid; grid-template-columns: 2fr 1fr; gap: 1rem; margin: 1rem 0'>{image}<div>{words}</div></div>"
