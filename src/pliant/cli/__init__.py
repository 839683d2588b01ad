"""The command line. Every command imports what it needs when it runs: start-up must be short, `pliant --help` above all."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from pliant.cli import proof, read, run, study, view

app = typer.Typer(
    help="Contact between soft, quasi-rigid and rigid bodies: simulate it and measure it.\n\n"
    "Start with `pliant demo`, then `pliant scenes` and `pliant run NAME`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(asked: bool) -> None:
    if asked:
        from pliant import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
) -> None:
    pass


COMMANDS = (
    run.demo, run.run, run.resume, read.info, read.repair, read.export, read.contacts, read.check, run.press, run.response, read.scenes,
    study.study, proof.refine, proof.reproduce, proof.validate, proof.compare, view.view, view.live, view.report, view.figure, read.schema,
    read.cache,
)  # fmt: skip
for command in COMMANDS:  # in the order in which --help lists them
    app.command()(command)


@app.command(hidden=True)
def warm() -> None:
    """Compile all kernels into the cache, with a progress line."""
    from pliant.simulate.compile_ahead import warm as compile_all

    compile_all()


def _print_anything() -> None:
    """Let no letter stop a command: names of files that are no text keep their bytes, what a terminal cannot show becomes "?"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="surrogateescape" if stream.encoding.lower().replace("-", "") == "utf8" else "replace")


def _tell(text: str) -> None:
    """A line for whoever waits; on a terminal it goes over one that is to be written over."""
    wipe = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{wipe}  {text[:1].upper()}{text[1:]}.", file=sys.stderr, flush=True)


def main() -> None:
    """Run the command line; errors of input are sentences, not tracebacks. Ctrl-C is told by `__main__`."""
    from pliant.asking import commands
    from pliant.base import DiskError, PliantError
    from pliant.disk import failure
    from pliant.waiting import telling

    _print_anything()
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # nor do processes that this one starts look for modules in the working folder
    try:
        with commands(), telling(_tell):
            app(prog_name="pliant")
    except SystemExit as left:
        if isinstance(getattr(left.__context__, "__cause__", None), KeyboardInterrupt):  # typer ends without a word then
            print("Stopped.", file=sys.stderr)
        raise
    except DiskError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # whoever read what we print has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        found = failure(error, "cannot use")
        print(f"Error: {found}.", file=sys.stderr)
        sys.exit(1 if isinstance(found, DiskError) else 2)
    except PliantError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
