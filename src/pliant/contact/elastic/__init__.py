"""Elastic contact of surfaces that are rigid but give way locally [Pauly, Pai, Guibas 2004]: responses, the elastic matrix, and the
contact problem; arrays in, arrays out. See docs/elastic-response.md.

    K = elastic(points, areas, Boussinesq(compliance(1e7, 0.45)))     # [m/N]
    contact = solve(K, separation)                                    # forces P [N] and separations s [m]
    stance = solve_load(K, gap, rows, load)                           # the same at a given load

On these rests the contact of two objects, which `press` and the method `quasi-rigid` share; see docs/methods/quasi-rigid.md:

    found = resolve(Side(foot, response), Side(Exact("plane")))       # forces, displacements, wrench, stiffness
    placed, found = rest(foot, floor, direction, force)               # where an object comes to rest under a load
"""

from pliant.contact.elastic.coarse_to_fine import carried
from pliant.contact.elastic.contact_stiffness import contact_stiffness, stiffening
from pliant.contact.elastic.deformed_surface import deformed, shared_surfaces
from pliant.contact.elastic.gaussian_blobs import assemble, blobs, displacement
from pliant.contact.elastic.grid_squares import Patch
from pliant.contact.elastic.lcp import Solution, solve
from pliant.contact.elastic.lcp_load import solve_load
from pliant.contact.elastic.operators import Dense, Direct, Operator, elastic
from pliant.contact.elastic.pressure import pressure
from pliant.contact.elastic.response import Boussinesq, LayerCut, Response, Sum, Tabulated, VolumePreserving, compliance
from pliant.contact.elastic.resting_pose import rest
from pliant.contact.elastic.result import ContactResult
from pliant.contact.elastic.side import Side
from pliant.contact.elastic.two_bodies import resolve

__all__ = [
    "Boussinesq", "ContactResult", "Dense", "Direct", "LayerCut", "Operator", "Patch", "Response", "Side", "Solution", "Sum", "Tabulated",
    "VolumePreserving", "assemble", "blobs", "carried", "compliance", "contact_stiffness", "deformed", "displacement", "elastic",
    "pressure", "resolve", "rest", "shared_surfaces", "solve", "solve_load", "stiffening",
]  # fmt: skip
