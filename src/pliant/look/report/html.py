"""The few pieces of html that a report is made of. All words are escaped here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

STYLE = """
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #262a33; background: #f9fafc; margin: 0; }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #d8dce3; }
table { border-collapse: collapse; width: 100%; background: #fff; } th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; }
th { color: #69707d; font-weight: 600; } tr + tr > * { border-top: 1px solid #eef0f4; }
.facts th { width: 12rem; white-space: nowrap; font-weight: 500; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } th.number { text-align: right; }
.wide { overflow-x: auto; } figure { margin: 0; background: #fff; border: 1px solid #e2e5eb; border-radius: 6px; overflow: hidden; }
figcaption { padding: .35rem .7rem; color: #6a717d; } img { display: block; width: 100%; height: auto; }
.stills, .plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(27rem, 1fr)); gap: .8rem; }
pre { background: #fff; border: 1px solid #e2e5eb; border-radius: 6px; padding: .8rem; overflow: auto; max-height: 30rem; }
.lead { font-size: 1.05rem; } .quiet { color: #69707d; }
.entry { white-space: nowrap; }
.swatch { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .35em 0 .9em; border: 1px solid #0003; }
li.bad { color: #b3261e; } @media (max-width: 32rem) { .stills, .plots { grid-template-columns: 1fr; } }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """A whole page that loads nothing from anywhere."""
    # no scripts and nothing from outside, even if a name in the run tried to bring some
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    head = (
        f"<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
    )
    body = f"<main><h1>{escape(title)}</h1>{''.join(parts)}</main>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def section(title: str, body: str) -> str:
    """A heading and what is under it (html)."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def text(words: str, kind: str = "") -> str:
    """A paragraph; of a `kind`: lead, quiet."""
    return f"<p class='{kind}'>{escape(words)}</p>" if kind else f"<p>{escape(words)}</p>"


def legend(entries: Mapping[str, tuple[int, int, int]]) -> str:
    """Names with their colours, in a row."""
    swatch = lambda colour: f"<span class='swatch' style='background: rgb{tuple(int(c) for c in colour)}'></span>"
    return " ".join(f"<span class='entry'>{swatch(colour)}{escape(name)}</span>" for name, colour in entries.items())


def beside(parts: Sequence[str]) -> str:
    """Pieces of html next to each other where there is room."""
    return f"<div class='plots'>{''.join(parts)}</div>"


def listing(items: Sequence[str], bad: Sequence[str] = ()) -> str:
    """A list; the `bad` ones first, in red."""
    lines = [*(f"<li class='bad'>{escape(item)}</li>" for item in bad), *(f"<li>{escape(item)}</li>" for item in items)]
    return f"<ul>{''.join(lines)}</ul>"


def facts(pairs: Mapping[str, str]) -> str:
    """A table of two columns."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in pairs.items())
    return f"<div class='wide'><table class='facts'>{rows}</table></div>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table; all but the first `words` columns are numbers."""
    kind = lambda k: "" if k < words else " class='number'"
    head = "".join(f"<th{kind(k)}>{escape(h)}</th>" for k, h in enumerate(heads))
    body = "".join("<tr>" + "".join(f"<td{kind(k)}>{escape(c)}</td>" for k, c in enumerate(row)) + "</tr>" for row in rows)
    return f"<div class='wide'><table><tr>{head}</tr>{body}</table></div>"


def figure(png: str, caption: str, more: str = "") -> str:
    """A picture (base64 of a png) with words under it, and more html after them."""
    under = f"<figcaption>{escape(caption)}{more}</figcaption>"
    return f"<figure><img alt='{escape(caption)}' src='data:image/png;base64,{png}'>{under}</figure>"


def code(words: str) -> str:
    """Text as it was typed."""
    return f"<pre>{escape(words)}</pre>"


def folded(title: str, body: str) -> str:
    """Html that opens on a click."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"
