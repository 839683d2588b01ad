"""What a check finds: a list of findings that reads as sentences and as data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pliant.base import PliantError

NOTHING = "nothing"
REFUSED = "refused"
SHOWN = 8  # ids listed per finding


@dataclass(frozen=True)
class Finding:
    """One kind of defect."""

    code: str  # stable name for programs, e.g. "boundary-edges"
    count: int
    sentence: str  # what, how many, worst case, why it matters
    action: str = NOTHING  # "nothing", "refused", or "repaired: ..."
    ids: tuple[int, ...] = ()  # the first few faces, tets, vertices (counted from 0)
    worst: str = ""

    @property
    def repaired(self) -> bool:
        return self.action.startswith("repaired")


@dataclass
class Report:
    """Everything found in one mesh."""

    kind: str  # "surface", "tet mesh", "point cloud"
    summary: str  # size and extent in one sentence
    findings: list[Finding] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # what reading the file left out or changed
    name: str = ""  # file or body

    def add(
        self, code: str, ids: Iterable[int] | np.ndarray, sentence: str, action: str = NOTHING, *,
        worst: str = "", count: int | None = None,
    ) -> None:  # fmt: skip
        """Record a defect unless there is none of it.

        In the sentence `{n}` becomes the count, and of `{one|many}` the form that fits it is taken.
        """
        listed = [int(i) for i in ids]
        number = len(listed) if count is None else count
        if number:
            text = sentence.replace("{n}", str(number))
            text = re.sub(r"\{([^{}|]*)\|([^{}|]*)\}", r"\1" if number == 1 else r"\2", text)
            self.findings.append(Finding(code, number, text, action, tuple(listed[:SHOWN]), worst))

    def count(self, code: str) -> int:
        """How often a defect was found."""
        return sum(f.count for f in self.findings if f.code == code)

    def will(self, code: str) -> bool:
        """Whether the report announces a repair of this defect."""
        return any(f.code == code and f.repaired for f in self.findings)

    @property
    def refused(self) -> bool:
        return any(f.action == REFUSED for f in self.findings)

    @property
    def clean(self) -> bool:
        return not self.findings

    def text(self, use: str = "") -> str:
        """The report in sentences, one finding per line; `use`: for what the outlook that follows says what becomes of it."""
        lines = [f"{self.name}: {self.summary}" if self.name else self.summary]
        lines += [f"  note: {notice}" for notice in self.notices]
        for f in self.findings:
            ids = f" [{', '.join(map(str, f.ids))}{', ...' if f.count > len(f.ids) else ''}]" if f.ids else ""
            worst = f" Worst: {f.worst}." if f.worst else ""
            left = f"Left as it is; see below for what becomes of it ({use})." if use else "pliant does nothing about it."
            does = left if f.action == NOTHING else f"pliant: {f.action}."
            lines.append(f"  {f.sentence}{ids}{worst} {does}")
        lines.append("  Nothing wrong was found." if self.clean else f"  {self.verdict}")
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        if self.refused:
            return "The mesh is refused."
        return "The mesh is used after repair." if any(f.repaired for f in self.findings) else "The mesh is used as it is."

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        return asdict(self) | {"clean": self.clean, "refused": self.refused}

    def require_usable(self) -> None:
        """Raise if the mesh is refused."""
        reasons = [
            f.sentence + (f" (ids {', '.join(map(str, f.ids))}{', ...' if f.count > len(f.ids) else ''})" if f.ids else "")
            for f in self.findings
            if f.action == REFUSED
        ]
        if reasons:
            raise PliantError(f"{self.name or 'this ' + self.kind} is refused: {' '.join(reasons)}")
