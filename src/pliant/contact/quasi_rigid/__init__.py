"""Elastic contact of surfaces that are rigid but give way locally [Pauly, Pai, Guibas 2004]: responses, the elastic matrix, and the
contact problem.

    K = elastic(points, areas, Boussinesq(compliance(1e7, 0.45)))     # [m/N]
    contact = solve(K, separation)                                    # forces P [N] and separations s [m]
    stance = solve_load(K, gap, rows, load)                           # the same at a given load

Arrays in, arrays out; see docs/elastic-response.md. On these rests the contact of two objects, docs/methods/quasi-rigid.md:

    found = resolve(Side(foot, response), Side(Exact("plane")))       # forces, displacements, wrench, stiffness
    placed, found = rest(foot, floor, direction, force)               # where an object comes to rest under a load
"""

from pliant.contact.quasi_rigid.galerkin import assemble, blobs, displacement
from pliant.contact.quasi_rigid.lcp import Solution, solve
from pliant.contact.quasi_rigid.load import solve_load
from pliant.contact.quasi_rigid.operators import Dense, Direct, Operator, elastic
from pliant.contact.quasi_rigid.patch_fft import Patch
from pliant.contact.quasi_rigid.resolve import resolve
from pliant.contact.quasi_rigid.response import Boussinesq, LayerCut, Response, Sum, Tabulated, VolumePreserving, compliance
from pliant.contact.quasi_rigid.result import ContactResult
from pliant.contact.quasi_rigid.side import Side
from pliant.contact.quasi_rigid.stance import rest
from pliant.contact.quasi_rigid.stiffening import stiffening
from pliant.contact.quasi_rigid.stiffness import contact_stiffness
from pliant.contact.quasi_rigid.surface import deformed, shared_surfaces
from pliant.contact.quasi_rigid.traction import carried, pressure

__all__ = [
    "Boussinesq", "ContactResult", "Dense", "Direct", "LayerCut", "Operator", "Patch", "Response", "Side", "Solution", "Sum", "Tabulated",
    "VolumePreserving", "assemble", "blobs", "carried", "compliance", "contact_stiffness", "deformed", "displacement", "elastic",
    "pressure", "resolve", "rest", "shared_surfaces", "solve", "solve_load", "stiffening",
]  # fmt: skip
