"""Pictures, movies and plots of simulations and runs. pyvista, matplotlib and ffmpeg are loaded when something is drawn."""

from pliant.look.draw import draw, draw_series, still
from pliant.look.figure import figure, poster
from pliant.look.movie import movie
from pliant.look.plots import plot_depths, plot_energies, plot_forces, plots
from pliant.look.source import Picture, from_run, from_simulation
from pliant.look.stage import Camera

__all__ = [
    "Camera",
    "Picture",
    "draw",
    "draw_series",
    "figure",
    "from_run",
    "from_simulation",
    "movie",
    "plot_depths",
    "plot_energies",
    "plot_forces",
    "plots",
    "poster",
    "still",
]
