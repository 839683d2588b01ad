"""What the scenes of several sources expect: bodies that are whole and apart, at rest, and energy that nobody made."""

from __future__ import annotations

import numpy as np

from pliant.measure.overlap import Overlap, overlap
from pliant.simulate.simulation import Simulation

ASLANT = 0.1  # of an edge: how deep a contact may be along its own way, which at rims is not the shortest
REST = 1e-4  # of the energy that was brought in: kinetic energy that counts as rest


def unharmed(sim: Simulation, deepest: float) -> Overlap:
    """No element is inverted, no point is deeper in another body than this part of an edge, nor any contact than ASLANT; the overlap."""
    found = overlap(sim)
    said = sim.contacts().depth.max(initial=0.0) / found.edge
    none_inverted(sim)
    assert found.worst < deepest, f"the deepest point is {100 * found.worst:.2f} % of an edge inside another body"
    assert said < ASLANT, f"a contact is {100 * said:.2f} % of an edge deep, along the way it takes"
    return found


def none_inverted(sim: Simulation) -> None:
    inverted = inverted_elements(sim)
    assert inverted == 0, f"{inverted} elements are inverted"


def inverted_elements(sim: Simulation) -> int:
    return sum(int(np.count_nonzero(group.stretch(sim.state.x) <= 0.0)) for group in sim.world.model.groups)


def at_rest(sim: Simulation) -> None:
    """Kinetic energy is little of what the bodies have come down by and of what they store."""
    books = sim.books()
    part = books.kinetic / max(books.elastic + max(books.start - books.gravity, 0.0), 1e-300)
    assert part < REST, f"kinetic energy is {part:.1e} of what was brought in: no rest"


def gains_nothing(sim: Simulation) -> None:
    """No energy came from nowhere: what was put in and is not there any more was lost, not gained."""
    books = sim.books()
    moved = books.elastic + abs(books.start - books.gravity)
    assert books.lost > -0.02 * moved, f"{-books.lost:.1e} J of {moved:.1e} J came from nowhere"
