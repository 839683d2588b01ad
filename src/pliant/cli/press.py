"""Commands for pressing objects onto each other without dynamics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.options import Json, Threads, say, tell, use_threads


def press(
    a: Annotated[str, typer.Argument(help="A mesh or point cloud file, or the name of a shape.")],
    b: Annotated[str, typer.Argument(help="What it is pressed onto: a file, the name of a shape, or plane.")] = "plane",
    depth: Annotated[str | None, typer.Option(help="How far A goes on after the first touch, such as 2mm; or")] = None,
    force: Annotated[str | None, typer.Option(help="the force it goes on to, such as 500N.")] = None,
    direction: Annotated[str, typer.Option(help="The way A moves, three numbers.")] = "0,0,-1",
    tilt: Annotated[str, typer.Option(help="fixed, or free: under a force, A turns until its load is balanced.")] = "fixed",
    at: Annotated[str | None, typer.Option(help="Where the force acts on A [m], three numbers; default the centre of its volume.")] = None,
    response: Annotated[str, typer.Option(help="boussinesq, volume-preserving (flesh, rubber), layer, or a table (.csv).")] = "boussinesq",
    layer: Annotated[str | None, typer.Option(help="How far a push is felt, such as 15mm; default twice the contact's radius.")] = None,
    young: Annotated[str, typer.Option(help="Young's modulus of A, such as 200kPa; rigid.")] = "1MPa",
    poisson: Annotated[float, typer.Option(help="Poisson's ratio of A.")] = 0.45,
    young_b: Annotated[str, typer.Option(help="Young's modulus of B; rigid.")] = "rigid",
    poisson_b: Annotated[float, typer.Option(help="Poisson's ratio of B.")] = 0.45,
    unit: Annotated[str, typer.Option(help="Unit of the numbers in the files: m, cm, mm, in ...")] = "m",
    up: Annotated[str, typer.Option(help="Axis that points up in the files: x, y, z, -y ...")] = "z",
    size: Annotated[str | None, typer.Option(help="Instead of a unit: the largest extent of each file, such as 25cm.")] = None,
    unit_b: Annotated[str | None, typer.Option(help="Unit of B's file, if it differs.")] = None,
    up_b: Annotated[str | None, typer.Option(help="Axis that points up in B's file, if it differs.")] = None,
    size_b: Annotated[str | None, typer.Option(help="Largest extent of B's file, if it differs.")] = None,
    spacing: Annotated[str | None, typer.Option(help="Of samples on meshes, such as 1mm.")] = None,
    align: Annotated[bool, typer.Option("--align", help="Bring the middles of both in line first.")] = False,
    crop: Annotated[str | None, typer.Option(help="The part of A that is used, such as z<50mm,x>-2cm.")] = None,
    crop_b: Annotated[str | None, typer.Option(help="The part of B that is used.")] = None,
    sensor: Annotated[str | None, typer.Option(help="Cells of the pressure map, such as 37x13.")] = None,
    measured: Annotated[Path | None, typer.Option(help="A measured map (rows of numbers) to compare with.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for pictures, map and surfaces.")] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Press one object onto another: contact area, pressure, centre of pressure, stiffness, and a picture."""
    from pliant.pressing.report import numbers, report, sensor_shape
    from pliant.pressing.tool import press as press_together
    from pliant.simulate.compile_ahead import announce

    use_threads(threads)
    shape = sensor_shape(sensor, measured)
    with announce(quiet=as_json):
        found = press_together(
            a, b, depth=depth, force=force, direction=numbers("direction", direction), tilt=tilt,
            at=None if at is None else numbers("at", at), response=response, layer=layer,
            young=None if young == "rigid" else young, poisson=poisson, young_b=None if young_b == "rigid" else young_b,
            poisson_b=poisson_b, unit=unit, up=up, size=size, unit_b=unit_b, up_b=up_b, size_b=size_b, spacing=spacing, align=align,
            crop=crop, crop_b=crop_b,
        )  # fmt: skip
    facts, text = report(found, shape, measured)
    if out is not None:
        facts["files"] = [str(path) for path in found.save(out, shape)]
    tell(facts) if as_json else say(text)
    if out is not None and not as_json:
        say(f"Wrote {', '.join(Path(path).name for path in facts['files'])} in {out}.")


def response(
    out: Annotated[Path, typer.Argument(help="The table to write, a .csv file for `pliant press --response`.")],
    thickness: Annotated[str | None, typer.Option(help="Compute it: a layer on rigid ground, such as 20mm; or")] = None,
    measured: Annotated[Path | None, typer.Option(help="take it from rows of radius [m], displacement [m].")] = None,
    load: Annotated[str, typer.Option(help="The force that the measured displacements belong to.")] = "1N",
    young: Annotated[str, typer.Option(help="Young's modulus, such as 200kPa.")] = "1MPa",
    poisson: Annotated[float, typer.Option(help="Poisson's ratio.")] = 0.45,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Tabulate how a surface gives way around a force, with finite elements or from measurements."""
    from pliant.pressing.tabulate import tabulated
    from pliant.simulate.compile_ahead import announce

    use_threads(threads)
    with announce(quiet=as_json):
        facts, text = tabulated(out, thickness, measured, load, young, poisson)
    tell(facts) if as_json else say(text)
