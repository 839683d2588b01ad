"""How a surface gives way around a point force: u(r) = f(r) P, [Pauly, Pai, Guibas 2004, 3.1], theory/quasi-rigid 3.1-3.3, 3.5.

    Boussinesq(C)            f = C / r                                        an elastic half-space
    VolumePreserving(C, b)   f = C (1/r - c) exp(-r^2/2b^2), c = sqrt(pi/2)/b   what goes in comes out within a few b
    LayerCut(C, radius)      f = C / r up to the radius, 0 beyond              a thin layer; stiffer, see `stiffening`
    Tabulated(r, f, C)       f measured or computed, with f -> C / r for r -> 0

C = (1 - nu^2) / (pi E) [m^2/N]. Two bodies in contact add their responses: `a + b`. A rigid body has C = 0.
Each has g(d, s2), the displacement at distance d of a unit force that is spread as a Gaussian of variance s2; its planar Fourier
transform F(k) = 2 pi int f J0(k r) r dr, which is positive where the elastic problem has one solution; and the volume it displaces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.integrate import trapezoid
from scipy.interpolate import PchipInterpolator
from scipy.special import i0e, itj0y0, j0

from pliant.base import Floats, PliantError

Code = tuple[Floats, Floats]  # terms (t, 3): C, 1/b^2, cut-off radius; tables (t, 2 + m): step, far, values
STEPS = 4096  # values of a table
NO_TABLE = np.zeros((0, 2))


class Response(Protocol):
    """What the matrix needs to know of a response."""

    @property
    def code(self) -> Code:
        """Terms and tables for the kernels."""
        ...

    @property
    def positive(self) -> bool:
        """True if a push never lifts the surface: then only nodes that overlap can carry force (theory/quasi-rigid 6.2)."""
        ...

    @property
    def volume(self) -> float:
        """Displaced volume per force [m^3/N], 2 pi int f r dr."""
        ...

    def f(self, r: Floats) -> Floats:
        """Displacement per force [m/N] at distance r [m]."""
        ...

    def g(self, d: Floats, s2: Floats | float) -> Floats:
        """Displacement per force [m/N] at distance d of a force spread with variance s2 [m^2] (theory/quasi-rigid 4.1)."""
        ...

    def fourier(self, k: Floats) -> Floats:
        """Planar Fourier transform of f [m^3/N] at wave numbers k > 0 [1/m]."""
        ...


def compliance(youngs_modulus: float, poisson_ratio: float) -> float:
    """C = (1 - nu^2) / (pi E) [m^2/N]."""
    if not youngs_modulus > 0.0 or not -1.0 < poisson_ratio < 0.5:  # 0.5 would do here, but not for finite elements: one rule for all
        raise PliantError(
            f"E = {youngs_modulus}, nu = {poisson_ratio}: Young's modulus must be positive, and Poisson's ratio above -1 and below 0.5; "
            "0.499 is nearly incompressible."
        )
    return (1.0 - poisson_ratio**2) / (math.pi * youngs_modulus)


class _Adds:
    """Two responses add."""

    def __add__(self: Response, other: Response) -> Sum:
        return Sum((*getattr(self, "parts", (self,)), *getattr(other, "parts", (other,))))


def _positive(name: str, value: float, zero: bool = False) -> None:
    if not (math.isfinite(value) and (value > 0.0 or zero and value == 0.0)):
        raise PliantError(f"{name} = {value}: it must be a finite number {'of at least' if zero else 'above'} 0.")


@dataclass(frozen=True)
class Boussinesq(_Adds):
    """A half-space: f = C / r. Displaces an infinite volume."""

    c: float  # [m^2/N]

    positive = True
    volume = math.inf

    def __post_init__(self) -> None:
        _positive("C", self.c, zero=True)

    @property
    def code(self) -> Code:
        return np.array([[self.c, 0.0, math.inf]]), NO_TABLE

    def f(self, r: Floats) -> Floats:
        return self.c / np.asarray(r)

    def g(self, d: Floats, s2: Floats | float) -> Floats:
        return self.c * np.sqrt(0.5 * math.pi / s2) * i0e(0.25 * np.square(d) / s2)

    def fourier(self, k: Floats) -> Floats:
        return 2.0 * math.pi * self.c / np.asarray(k)


@dataclass(frozen=True)
class VolumePreserving(_Adds):
    """f = C (1/r - c) exp(-r^2/2b^2): a dent with a rim around it. Positive definite on a plane for every b."""

    c: float  # [m^2/N]
    b: float  # [m] how far a push is felt: the thickness of the layer that gives way; infinite: Boussinesq

    positive = False
    volume = 0.0

    def __post_init__(self) -> None:
        _positive("C", self.c, zero=True)
        _positive("b", self.b)

    @property
    def code(self) -> Code:
        return np.array([[self.c, self.b**-2, math.inf]]), NO_TABLE

    def f(self, r: Floats) -> Floats:
        r = np.asarray(r)
        return self.c * (1.0 / r - math.sqrt(0.5 * math.pi) / self.b) * np.exp(-0.5 * (r / self.b) ** 2)

    def g(self, d: Floats, s2: Floats | float) -> Floats:
        d2, b, wide2 = np.square(d), self.b, s2 + self.b**2
        peak = b / np.sqrt(s2 * wide2) * i0e(0.25 * d2 * b**2 / (s2 * wide2))
        return self.c * math.sqrt(0.5 * math.pi) * np.exp(-0.5 * d2 / wide2) * (peak - b / wide2)

    def fourier(self, k: Floats) -> Floats:
        z = 0.25 * (np.asarray(k) * self.b) ** 2
        return 2.0 * math.pi * self.c * self.b * math.sqrt(0.5 * math.pi) * (i0e(z) - np.exp(-2.0 * z))


@dataclass(frozen=True)
class LayerCut(_Adds):
    """f = C / r up to a radius. A radius below the contact's diameter stiffens the body; `stiffening` says by how much
    (theory/quasi-rigid 5)."""

    c: float  # [m^2/N]
    radius: float  # [m]

    positive = True

    def __post_init__(self) -> None:
        _positive("C", self.c, zero=True)
        _positive("radius", self.radius)

    @property
    def code(self) -> Code:
        return np.array([[self.c, 0.0, self.reach]]), NO_TABLE

    @property
    def reach(self) -> float:
        """The radius and a bit, so that rounding does not decide about nodes of a lattice that lie on it."""
        return (1.0 + 1e-9) * self.radius

    @property
    def volume(self) -> float:
        return 2.0 * math.pi * self.c * self.radius

    def f(self, r: Floats) -> Floats:
        r = np.asarray(r)
        return np.where(r <= self.reach, self.c / r, 0.0)

    def g(self, d: Floats, s2: Floats | float) -> Floats:
        return np.where(np.asarray(d) <= self.reach, Boussinesq(self.c).g(d, s2), 0.0)

    def fourier(self, k: Floats) -> Floats:
        k = np.asarray(k)
        return 2.0 * math.pi * self.c / k * itj0y0(k * self.radius)[0]


@dataclass(frozen=True)
class Tabulated(_Adds):
    """f from measurements or another computation at radii r > 0; monotone cubic between them.

    Below the first radius f - C/r keeps its first value. Beyond the last f falls as 1/r from its last value: end with 0 for a layer.
    """

    r: Floats  # [m], rising
    values: Floats  # [m/N]
    c: float  # [m^2/N], f -> C / r near the force; (1 - nu^2)/(pi E) of the material at the surface

    def __post_init__(self) -> None:
        r, values = np.asarray(self.r, dtype=np.float64), np.asarray(self.values, dtype=np.float64)
        _positive("C", self.c)
        if r.ndim != 1 or len(r) < 4 or r.shape != values.shape or not np.all(np.isfinite(values)):
            raise PliantError(f"A table needs at least four radii and as many finite values, not {r.shape} and {values.shape}.")
        if r[0] <= 0.0 or np.any(np.diff(r) <= 0.0):
            raise PliantError("The radii of a table must be positive and rising: sort them, and drop r = 0, where C / r takes over.")
        object.__setattr__(self, "r", r)
        object.__setattr__(self, "values", values)

    @cached_property
    def _smooth(self) -> PchipInterpolator:
        """w = f - C/r at and between the radii."""
        return PchipInterpolator(self.r, self.values - self.c / self.r)

    @property
    def _far(self) -> float:
        return float(self.values[-1] * self.r[-1])

    @cached_property
    def code(self) -> Code:
        step = self.r[-1] / STEPS
        at = np.arange(-1, STEPS + 2) * step  # a value more at both ends, for the cubic between values
        values = self._smooth(np.clip(np.abs(at), self.r[0], self.r[-1]))
        return np.array([[self.c, 0.0, math.inf]]), np.concatenate([[step, self._far - self.c], values])[None]

    @property
    def positive(self) -> bool:
        return bool(np.all(self.values >= 0.0))

    @property
    def volume(self) -> float:
        if self._far != 0.0:
            return math.copysign(math.inf, self._far)
        return float(2.0 * math.pi * (self.c * self.r[-1] + self._moment(np.zeros(1))[0]))

    def f(self, r: Floats) -> Floats:
        r = np.asarray(r, dtype=np.float64)
        inside = self.c / r + self._smooth(np.clip(r, self.r[0], self.r[-1]))
        return np.where(r <= self.r[-1], inside, self._far / r)

    def g(self, d: Floats, s2: Floats | float) -> Floats:
        d2, s = np.square(d), np.sqrt(s2)
        r = np.sqrt(d2 + s2 * (1.0 + (0.5 * math.pi - 1.0) * s2 / (s2 + d2)))  # see gaussian_blobs.py
        smooth = [self.f(each) - self.c / each for each in (r + s, r - s)]
        return Boussinesq(self.c).g(d, s2) + 0.5 * (smooth[0] + smooth[1])

    def fourier(self, k: Floats) -> Floats:
        k = np.atleast_1d(np.asarray(k, dtype=np.float64))
        near = itj0y0(k * self.r[-1])[0]
        return 2.0 * math.pi * (self.c * near / k + self._far * (1.0 - near) / k + self._moment(k))

    def _moment(self, k: Floats) -> Floats:
        """int w J0(k r) r dr up to the last radius, by the trapezoidal rule on the table."""
        r = np.linspace(0.0, self.r[-1], STEPS + 1)
        w = self._smooth(np.clip(r, self.r[0], None)) * r
        return trapezoid(w * j0(k[:, None] * r), r, axis=1)


@dataclass(frozen=True)
class Sum(_Adds):
    """Several responses at once, as of two bodies in contact."""

    parts: tuple[Response, ...]

    @cached_property
    def code(self) -> Code:
        terms, tables = zip(*(part.code for part in self.parts), strict=True)
        width = max(table.shape[1] for table in tables)
        return np.concatenate(terms), np.concatenate([t if t.shape[1] == width else np.zeros((0, width)) for t in tables])

    @property
    def positive(self) -> bool:
        return all(part.positive for part in self.parts)

    @property
    def volume(self) -> float:
        return sum(part.volume for part in self.parts)

    def f(self, r: Floats) -> Floats:
        return np.sum([part.f(r) for part in self.parts], axis=0)

    def g(self, d: Floats, s2: Floats | float) -> Floats:
        return np.sum([part.g(d, s2) for part in self.parts], axis=0)

    def fourier(self, k: Floats) -> Floats:
        return np.sum([part.fourier(k) for part in self.parts], axis=0)
