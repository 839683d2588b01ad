"""The command line. Every command imports what it needs when it runs, so that `pliant --help` is quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Contact between soft, quasi-rigid and rigid bodies: simulate it and measure it.\n\n"
    "Start with `pliant demo`, then `pliant scenes` and `pliant run NAME`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]


def say(text: str = "") -> None:
    """Print for people."""
    from rich.console import Console

    Console(soft_wrap=True, highlight=False).print(text)


@app.command()
def scenes(as_json: Json = False) -> None:
    """List the scenes that ship with pliant, with their parameters."""
    from rich.console import Console
    from rich.table import Table

    from pliant import scenes as shipped

    found = {n: (shipped.module(n).__doc__.splitlines()[0], shipped.parameters(n)) for n in shipped.SCENES}
    if as_json:
        print(json.dumps({n: {"about": about, "parameters": p} for n, (about, p) in found.items()}, indent=2))
        return
    table = Table("scene", "what happens", "parameters (--set NAME=VALUE)", box=None, pad_edge=False)
    for name, (about, parameters) in found.items():
        table.add_row(f"[bold]{name}[/]", about, ", ".join(f"{k}={v}" for k, v in parameters.items()))
    Console().print(table)


@app.command()
def schema(out: Annotated[Path | None, typer.Option(help="Write to this file instead of the screen.")] = None) -> None:
    """Print the JSON schema of scene files, for completion and checks in editors."""
    from pliant.scene import Scene

    text = json.dumps(Scene.model_json_schema(), indent=2)
    if out is None:
        print(text)
    else:
        out.write_text(text + "\n")
        say(f"Wrote {out}.")


@app.command(hidden=True)
def warm() -> None:
    """Compile all kernels into the cache, with a progress line."""
    from pliant.warm import warm as compile_all

    compile_all()


def main() -> None:
    """Run the command line; errors of input are sentences, not tracebacks."""
    from pliant.geometry.mesh import PliantError

    try:
        app()
    except PliantError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


def parse_settings(items: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs; values are read as TOML, and as text where that fails."""
    import tomlkit

    from pliant.geometry.mesh import PliantError

    values: dict[str, Any] = {}
    for item in items:
        key, sign, text = item.partition("=")
        if not sign or not key:
            raise PliantError(f"--set takes NAME=VALUE, not '{item}'.")
        try:
            values[key] = tomlkit.parse(f"value = {text}").unwrap()["value"]
        except Exception:
            values[key] = text
    return values


if __name__ == "__main__":
    main()
