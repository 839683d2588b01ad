"""A window that nobody sees: drawing with no display, or a sentence that says what the machine lacks."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pliant.base import PliantError

CHOICE = "VTK_DEFAULT_OPENGL_WINDOW"  # VTK 9.4 and later read it whenever a window is made
EGL, OSMESA = "vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow"


def hidden_plotter(size: tuple[int, int]) -> Any:
    """An off-screen pyvista plotter without lights."""
    try:
        import pyvista
    except ImportError:
        raise PliantError("pictures need pyvista, which is not installed: pip install pyvista") from None
    with _chosen_window():
        plotter: Any = pyvista.Plotter(off_screen=True, window_size=list(size), lighting="none")
    plotter.disable_anti_aliasing()  # pictures are drawn larger and reduced instead
    plotter.render_window.SetMultiSamples(0)
    return plotter


@contextmanager
def _chosen_window() -> Iterator[None]:
    """Windows made inside need no display on Linux; the user's own choice is left as it is."""
    if not sys.platform.startswith("linux") or CHOICE in os.environ:
        yield
        return
    window = _displayless_window()
    if window is None and not os.environ.get("DISPLAY"):
        raise PliantError(
            "pictures cannot be drawn here: there is no display, and no driver that works without one. "
            "Install Mesa's EGL (Debian, Ubuntu: apt install libegl1 libgl1-mesa-dri; Fedora: dnf install mesa-libEGL "
            "mesa-dri-drivers), or look at the run file with ParaView"
        )
    if window is not None:
        os.environ[CHOICE] = window
    try:
        yield
    finally:
        os.environ.pop(CHOICE, None)


@cache
def _displayless_window() -> str | None:
    """The kind of window that works without a display. VTK crashes if one is made that does not."""
    import vtkmodules.vtkRenderingOpenGL2 as opengl
    from vtkmodules.vtkCommonCore import vtkLogger

    if hasattr(opengl, EGL) and _loads("libEGL.so.1"):
        loud = vtkLogger.GetCurrentVerbosityCutoff()
        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)  # it warns about every way that fails
        try:
            works = opengl.vtkEGLRenderWindow().SupportsOpenGL()
        finally:
            vtkLogger.SetStderrVerbosity(vtkLogger.ConvertToVerbosity(loud))
        if works:
            return EGL
    if hasattr(opengl, OSMESA) and any(_loads(f"libOSMesa.so{version}") for version in (".8", ".6", "")):
        return OSMESA
    return None


def _loads(library: str) -> bool:
    """Whether the system has a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
