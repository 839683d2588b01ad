"""Studies in a notebook: what is asked, and what was found."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.live.notebook import Card, card

if TYPE_CHECKING:
    from pliant.studies.refine import Refined
    from pliant.studies.study import Results, Study


def asked(study: Study) -> str:
    """The card of a study that is to be run."""
    name = study.name or str(getattr(study.scene, "name", study.scene) or study.call)
    told = lambda spec: ", ".join(f"{name} {value}" for name, value in spec.model_dump(exclude_none=True).items())
    rows = [[path, told(spec)] for path, spec in study.parameters.items()]
    facts = {"design": study.design, "measures": ", ".join(study.measures) or "none"}
    return card(Card(f"Study {name}", facts, [study.about] if study.about else [], heads=("parameter", "values"), rows=rows))


def results(found: Results) -> str:
    """The card of the table of a study."""
    columns = found.columns
    rows = [[_word(value) for value in row] for row in zip(*columns.values(), strict=True)]
    facts = {"cases": f"{len(found.cases)}, of which {found.found} were there already", "folder": str(found.folder)}
    if found.page is not None:
        facts["page"] = str(found.page)
    for threshold in found.thresholds:
        where = ", ".join(f"{name} = {_word(value)}" for name, value in threshold.point.items())
        facts[f"threshold at {where}" if where else "threshold"] = f"{threshold.value:.5g} ({threshold.status})"
    return card(Card(f"Results of {found.study.name or found.folder.name}", facts, heads=list(columns), rows=rows))


def refined(found: Refined) -> str:
    """The card of a refinement: each measure with what it tends to."""
    numbers = lambda row: [f"{value:.4g}" for value in (row.values[0], row.values[-1], row.limit.value)]
    rows = [[row.measure, row.along, *numbers(row), row.verdict] for row in found.rows]
    with tempfile.TemporaryDirectory() as folder:
        image = found.plot(Path(folder) / "refined.png").read_bytes() if found.rows else b""
    facts = {"pair": " – ".join(found.pair), "runs": str(len(found.levels)), "forces over": f"{1e3 * found.window:.3g} ms"}
    heads = ("measure", "along", "scene", "finest", "estimate", "verdict")
    return card(Card(f"Refinement of {found.name}", facts, found.notes, heads=heads, rows=rows, image=image))


def _word(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value)
