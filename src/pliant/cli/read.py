"""Commands that read what is there: runs, meshes, the scenes that ship with pliant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.options import Colour, Json, Keep, RunFile, reduction, say, seconds, tell
from pliant.waiting import doing


def info(
    path: RunFile,
    verify: Annotated[bool, typer.Option("--verify", help="Read all of it and verify every checksum, also of a file above 1 GB.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is in a run file: scene, frames, fields, how it ended, and what of it is damaged."""
    from pliant.cli.terminal import run_facts, run_text

    with doing(f"reading and verifying {path}"):
        facts = run_facts(path, verify)
    tell(facts) if as_json else say(run_text(facts))


def repair(
    path: Annotated[Path, typer.Argument(help="A run file or a journal that is damaged.")],
    out: Annotated[Path | None, typer.Option(help="Run file to write; default NAME-repaired.vtkhdf beside it.")] = None,
    as_json: Json = False,
) -> None:
    """Save every frame and checkpoint of a damaged run that is whole, in a new run file; what there is stays as it is."""
    from pliant.record import repair as save

    with doing(f"reading {path} and saving what is whole"):
        written, found = save(path, out)
    if as_json:
        tell({"run": None if written is None else str(written), "lost": found.lost, "saved": len(found.entries)})
    elif written is None:
        say(f"Nothing is damaged in {path}: all {len(found.entries)} records are whole. Nothing was written.")
    else:
        say(f"Wrote {written}. Of {path} {found.words}.")


def export(
    path: RunFile,
    to: Annotated[str, typer.Option(help="glb, usd, vtkhdf, vtu, ply, obj, nc, zarr, parquet, csv, png, mp4 or gif.")] = "vtu",
    out: Annotated[Path | None, typer.Option(help="Where to write; default beside the run file.")] = None,
    body: Annotated[str | None, typer.Option(help="Only this body (glb, usd, ply, obj).")] = None,
    colour: Colour = "auto",
    at: Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="Time of the picture (png); default the end.")] = None,
    frames: Annotated[str | None, typer.Option(help="Which frames, as in Python, such as 0:50 or ::5; default all.")] = None,
    glass: Annotated[str | None, typer.Option(help="Bodies to look through in pictures, with commas between.")] = None,
    view: Annotated[str | None, typer.Option("--from", help="Azimuth and elevation of pictures in degrees, such as 30,-20.")] = None,
    keep: Keep = None,
    precision: Annotated[str | None, typer.Option(help="How far lengths may be off in a copy (vtkhdf), such as 1um.")] = None,
    speed: Annotated[float, typer.Option(help="How fast it plays (glb, usd): 0.1 is ten times slower than it happened.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Write a run for another program: glTF and USD with animation, VTU, PLY and OBJ series, NetCDF, Zarr, tables, picture or movie."""
    from pliant.cli.exporting import export_run
    from pliant.record import Run

    with doing(f"writing {to} of {path}"), Run.open(path) as opened:
        reduced = reduction(keep, precision) if keep is not None or precision is not None else None
        written, notes = export_run(opened, to, out, body, colour, at, frames, speed, reduced, glass, view)
    if as_json:
        tell([str(path) for path in written])
        return
    for note in notes:
        say(note)
    say(f"Wrote {written[0]}" + (f" and {len(written) - 1} more." if len(written) > 1 else "."))


def contacts(
    path: RunFile,
    pair: Annotated[tuple[str, str] | None, typer.Option(help="Two bodies; what acts on the first is shown.")] = None,
    at: Annotated[float | None, typer.Option(parser=seconds, metavar="TIME", help="When, such as 0.2s; default the end.")] = None,
    window: Annotated[
        float | None,
        typer.Option(parser=seconds, metavar="TIME", help="Average forces over this time, such as 2ms; default that of each pair."),
    ] = None,
    to: Annotated[str, typer.Option(help="The history as csv or parquet (needs pandas and pyarrow).")] = "csv",
    out: Annotated[Path | None, typer.Option(help="Stem of the table and png; default RUN_contacts, with the names of a pair.")] = None,
    as_json: Json = False,
) -> None:
    """Say what touched what, how hard and over which area; write the history as a table and as a plot."""

    from pliant.base import PliantError
    from pliant.cli.terminal import MOST_PEAKS, contact_facts, pair_table, parted_text, peak_table, wide_console
    from pliant.record import Run

    if window is not None and not window > 0.0:
        raise PliantError(f"A window of {window:g} s: give a time above 0 over which forces are averaged, such as 2ms.")
    stem = out.with_suffix("") if out is not None and out.suffix in (".csv", ".parquet", ".png") else out
    with doing(f"reading {path}"), Run.open(path) as opened:
        facts = contact_facts(opened, pair, at, stem, to, window)
    if as_json:
        tell(facts)
        return
    if facts["headline"]:
        say(facts["headline"])
        wide_console(table := peak_table(facts["forces"])).print(table)
        for advice in [advice for found in facts["forces"][:MOST_PEAKS] for advice in found["advice"]]:
            say(advice)
    if facts["pairs"]:
        wide_console(table := pair_table(facts["pairs"], f"contact at t = {facts['time']:.4g} s")).print(table)
    else:
        say(f"{f'{pair[0]} and {pair[1]} do not touch' if pair else 'Nothing touches'} at t = {facts['time']:.4g} s.")
    if at is not None and abs(at - facts["time"]) > 1e-9:
        say(f"That is the last frame at or before t = {at:g} s; the table below has every step.")
    if facts["parted"]:
        say(parted_text(facts["parted"]))
    elif pair and not facts["pairs"]:
        say("They did not touch before.")
    say("\n".join(f"Wrote {p}" for p in facts["wrote"]))


def check(
    path: Annotated[Path, typer.Argument(help="A mesh or point cloud file.")],
    use: Annotated[str | None, typer.Option("--as", help="What it is for: soft, rigid, points, quasi-rigid or press.")] = None,
    edge: Annotated[str | None, typer.Option(help="Of the elements that are to fill it, such as 5mm (with --as).")] = None,
    picture: Annotated[Path | None, typer.Option(help="A picture (.png) in which holes, turned and cutting faces are marked.")] = None,
    unit: Annotated[str, typer.Option(help="Unit of the numbers in the file: m, cm, mm, in ...")] = "m",
    up: Annotated[str, typer.Option(help="Axis that points up in the file: x, y, z, -y ...")] = "z",
    size: Annotated[str | None, typer.Option(help="Instead of a unit: the largest extent of the file, such as 25cm.")] = None,
    as_json: Json = False,
) -> None:
    """Say in sentences what is wrong with a mesh file, what pliant will do about it, and what becomes of it in a use."""
    from pliant.geometry.check import check_file, repair
    from pliant.pressing.quantities import length

    mesh, report = check_file(path, unit=unit, up=up, size=None if size is None else length("size", size))
    works = not report.refused
    facts, text = report.as_dict(), report.text(use if use is not None and works else "")
    if use is None and works and not report.clean:
        text += "\n  What becomes of it in a use, such as open surfaces closed, --as soft, rigid, points, quasi-rigid or press says."
    if use is not None and works:
        from pliant.detect.surfels.make import wrapped_cloud  # kernels: start-up time
        from pliant.geometry.uses import outlook

        found = outlook(repair(mesh, report), use, None if edge is None else length("edge", edge), wrapped_cloud)
        facts["outlook"], text, works = found.as_dict(), f"{text}\n{found.text()}", found.works
    if picture is not None:
        from pliant.look.defects import defects_picture  # VTK: start-up time

        facts["marked"] = defects_picture(mesh, picture)
        text += f"\n  Wrote {picture}: {'; '.join(facts['marked'])}."
    tell(facts) if as_json else say(text)
    if not works:
        raise typer.Exit(1)


def cache(
    clear: Annotated[str | None, typer.Option(help="Remove what is kept: tets (filled surfaces), code (compiled kernels), or all.")] = None,
    as_json: Json = False,
) -> None:
    """List what pliant keeps on this machine, filled surfaces and compiled kernels, and remove it if asked."""
    from pliant.cli.kept import cache_facts, cache_text, cleared

    facts = cleared(clear) if clear is not None else cache_facts()
    tell(facts) if as_json else say(cache_text(facts))


def scenes(as_json: Json = False) -> None:
    """List the scenes that ship with pliant, with their parameters."""
    from rich.console import Console
    from rich.table import Table

    from pliant.shop import scenes as shipped

    found = {n: (shipped.find(n).about, shipped.parameters(n)) for n in shipped.SCENES}
    if as_json:
        tell({n: {"about": about, "parameters": p} for n, (about, p) in found.items()})
        return
    table = Table("scene", "what happens", "parameters (--set NAME=VALUE)", box=None, pad_edge=False)
    for name, (about, parameters) in found.items():
        table.add_row(f"[bold]{name}[/]", about, ", ".join(f"{k}={v}" for k, v in parameters.items()))
    Console().print(table)


def schema(out: Annotated[Path | None, typer.Option(help="Write to this file instead of the screen.")] = None) -> None:
    """Print the JSON schema of scene files, for completion and checks in editors."""
    import warnings

    from pliant.disk import write_text
    from pliant.scene import Scene

    with warnings.catch_warnings():  # a default that is a table over time has no JSON; its description says what it is
        warnings.simplefilter("ignore")
        text = json.dumps(Scene.model_json_schema(), indent=2)
    if out is None:
        print(text)
    else:
        write_text(out, text + "\n")
        say(f"Wrote {out}.")
