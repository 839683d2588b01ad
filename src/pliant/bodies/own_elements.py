"""What a body model of one's own must give, looked at once, when the body is made; what elements are is in bodies/elements.py.

Forces are held against the slope of the energy, and the longest explicit step against the highest frequency of the body: with
stiffness damping b a step dt is stable only if dt^2 omega^2 + 2 dt b omega^2 <= 4 (theory/elements 4.8). Power iteration finds a frequency
that is there, so a longer step than it allows is certainly too long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.base import Floats, Ints, PliantError
from pliant.bodies.stable_step import block_matrix, stable_step

if TYPE_CHECKING:
    from pliant.bodies.elements import Elements

CALLS = {
    "forces": "forces(x, v, out)", "energy": "energy(x)", "stiffness": "stiffness(x, out, dt)", "stable_dt": "stable_dt(node_mass)",
    "stretch": "stretch(x)",
}  # fmt: skip
OFF = 0.01  # of the work of all forces: what differences leave of a slope is a thousandth of this
SOME = 2000  # elements whose stiffness is looked at: a part of a body has no higher frequencies than all of it


def checked(elements: Elements, body: str, model: str, rest: Floats) -> Elements:
    """The same elements; what they lack or get wrong is an error that names body, model and member."""
    who = f"Body '{body}': its model '{model}'"
    missing = [name for name in ("name", "nodes", "mass", "rayleigh", "work", *CALLS) if not hasattr(elements, name)]
    if missing:
        what = f"has no `{'`, `'.join(missing)}`." if elements is not None else "is None; does its function return what it made?"
        raise PliantError(f"{who} must give elements, and what it gave {what} docs/extend.md lists what they have.")
    nodes = np.asarray(elements.nodes)
    if nodes.ndim != 2 or nodes.dtype.kind not in "iu":
        raise PliantError(f"{who} gives `nodes` as {_seen(nodes)}; they are whole numbers, (elements, corners).")
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < len(rest):
        raise PliantError(f"{who} gives `nodes` from {nodes.min()} to {nodes.max()}, but the world has nodes 0 to {len(rest) - 1}.")
    count, corners = nodes.shape
    for name, shape in (("mass", (count, corners)), ("rayleigh", (count,))):
        _refuse_shape(who, f"`{name}`", getattr(elements, name), shape, count, corners)
    if not elements.rayleigh.flags.writeable:
        raise PliantError(f"{who} gives a `rayleigh` that cannot be written: changes of `stiffness_damping` go there. Give a copy.")
    _check_forces(elements, who, rest, nodes)
    return elements


def _check_forces(elements: Elements, who: str, rest: Floats, nodes: Ints) -> None:
    (count, corners), own = nodes.shape, np.unique(nodes)
    size = float(np.ptp(rest[own], axis=0).max()) if len(own) else 1.0
    rng = np.random.default_rng(0)
    x, way = rest.copy(), np.zeros_like(rest)
    x[own] += 1e-3 * size * rng.uniform(-1, 1, (len(own), 3))
    way[own] = 1e-5 * size * rng.uniform(-1, 1, (len(own), 3))
    force = _filled(who, elements, "forces", (count * corners, 3), lambda out: elements.forces(x, np.zeros_like(x), out))
    blocks = _filled(
        who, elements, "stiffness", (count, corners * (corners + 1) // 2, 3, 3), lambda out: elements.stiffness(rest.copy(), out, 1e-3)
    )
    energy = [_called(who, "energy", lambda: elements.energy(x + way)), _called(who, "energy", lambda: elements.energy(x - way))]
    mass = np.zeros(len(rest))
    np.add.at(mass, nodes, elements.mass)
    longest, stretch = _called(who, "stable_dt", lambda: elements.stable_dt(mass)), _called(who, "stretch", lambda: elements.stretch(x))
    for name, values in (("energy", energy[0]), ("stable_dt", longest), ("stretch", stretch)):
        _refuse_shape(who, f"what `{CALLS[name]}` gives", values, (count,), count, corners)
    slope, work = float(np.sum(energy[0] - energy[1])) / 2.0, np.sum(force * way[nodes.ravel()], axis=1)
    if abs(slope + work.sum()) > OFF * np.abs(work).sum():
        raise PliantError(
            f"{who} has forces that are not the slope of its energy: on a small way they do {work.sum():.3g} J while the energy changes by"
            f" {slope:.3g} J, which must be as much with the other sign. Look at signs and factors in `forces` and `energy`; with v = 0"
            " forces must be without damping."
        )
    some = np.flatnonzero(np.all(mass[nodes] > 0.0, axis=1))[:SOME]
    if len(some):
        omega2, damping = _highest(block_matrix(blocks[some], corners), nodes[some], mass), float(elements.rayleigh[some].min())
        limit = float(stable_step(np.array(omega2), np.array(damping * omega2)))
        if float(longest.min()) > 1.001 * limit:  # rounding
            raise PliantError(
                f"{who} says that explicit steps are stable up to {longest.min():.3g} s (`stable_dt`), but with its stiffness, its"
                f" damping of {damping:g} s and the masses of its nodes they are not beyond {limit:.3g} s. Damping shortens steps:"
                " 4 / (d + sqrt(d² + 4 ω²)) with d = b ω², as `stable_step(ω², d)` of pliant.bodies.stable_step has it."
            )


def _highest(matrices: Floats, nodes: Ints, mass: Floats) -> float:
    """A frequency squared of these elements [1/s^2] that is there, near the highest, by power iteration on M^-1/2 K M^-1/2."""
    root = np.zeros(len(mass))
    root[mass > 0.0] = mass[mass > 0.0] ** -0.5
    u, found = np.random.default_rng(1).normal(size=(len(mass), 3)) * (root > 0.0)[:, None], 0.0
    for _ in range(60):
        u /= np.linalg.norm(u)
        y = np.einsum("eij,ej->ei", matrices, (root[:, None] * u)[nodes].reshape(len(nodes), -1)).reshape(*nodes.shape, 3)
        new = np.zeros_like(u)
        np.add.at(new, nodes, y)
        new *= root[:, None]
        found = float(np.sum(u * new))
        if not np.any(new):
            break
        u = new
    return found


def _filled(who: str, elements: Any, name: str, shape: tuple[int, ...], call: Callable[[Floats], None]) -> Floats:
    """What a member writes into an array that it is given."""
    out = np.full(shape, np.nan)
    _called(who, name, lambda: call(out))
    if not np.isfinite(out).all():
        left = int(np.count_nonzero(~np.isfinite(out)))
        raise PliantError(
            f"{who}: `{CALLS[name]}` must write into `out`, {' x '.join(map(str, shape))}, and left {left} of {out.size} numbers unwritten"
            " or not finite. Write out[:] = ...; what it returns is not looked at."
        )
    return out


def _called(who: str, name: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (TypeError, ValueError, IndexError) as error:
        raise PliantError(f"{who}: `{CALLS[name]}` failed when it was tried: {error}") from error


def _refuse_shape(who: str, what: str, values: Any, shape: tuple[int, ...], count: int, corners: int) -> None:
    if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype.kind != "f":
        wanted = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
        raise PliantError(f"{who}: {what} is {_seen(values)}; of {count} elements with {corners} corners it must be floats {wanted}.")
    if not np.isfinite(values).all() and "stable_dt" not in what:
        raise PliantError(f"{who}: {what} has numbers that are not finite (first: element {int(np.argwhere(~np.isfinite(values))[0, 0])}).")


def _seen(values: Any) -> str:
    return f"an array {values.shape} of {values.dtype}" if isinstance(values, np.ndarray) else f"{type(values).__name__} {str(values)[:40]}"
