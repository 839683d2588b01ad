"""Names, units and ranges of fields."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.base import PliantError
from pliant.look import fields
from pliant.look.caption import length_words
from pliant.look.source import averaged
from pliant.look.stage import COLOURS, colour_map, tile_size
from pliant.record import Cells


def test_an_unknown_field_lists_those_there_are():
    with pytest.raises(PliantError, match=r"no field 'heat'.*depth, speed, velocity, body"):
        fields.choose("heat", ["velocity", "depth", "normal", "radius"], {0: "fem"})


@pytest.mark.parametrize(
    "available, kinds, expected",
    [
        (["von_mises", "velocity"], {0: "static", 1: "fem"}, "von_mises"),
        (["von_mises", "velocity"], {0: "static", 1: "rigid"}, "speed"),
        (["displacement"], {0: "rigid"}, "displacement"),
        ([], {0: "rigid"}, "body"),
    ],
)
def test_auto_takes_what_tells_most(available, kinds, expected):
    assert fields.choose("auto", available, kinds) == expected


def test_speed_is_the_size_of_the_velocity(falling):
    np.testing.assert_allclose(fields.values(falling.picture(), "speed"), 2.0)


@given(st.floats(1e-12, 1e12))
def test_rounding_up_is_above_and_near(value):
    rounded = fields.round_up(value)
    assert value * (1 - 1e-8) <= rounded <= 1.4 * value


@given(st.floats(1e-9, 1e9))
def test_tiles_are_near_what_was_asked(length):
    assert 0.6 < tile_size(length) / length < 1.6


def test_limits_leave_out_rare_peaks_and_the_zeros():
    values = np.concatenate([np.zeros(1000), np.linspace(0.0, 90.0, 1000), [1e6] * 5])
    assert fields.limits_of(values) == (0.0, 100.0)
    assert fields.limits_of(np.zeros(5)) == (0.0, 1.0)
    assert fields.limits_of(np.array([-3.5, 2.0])) == (-4.0, 2.0)


@pytest.mark.parametrize(
    "field, high, title, last",
    [
        ("von_mises", 2.4e3, "von Mises stress [kPa]", "2.4"),
        ("depth", 5e-4, "contact depth [µm]", "500"),
        ("speed", 2.0, "speed [m/s]", "2"),
        ("pressure", 1e6, "contact pressure [MPa]", "1"),
        ("det_F", 2000.0, "det F", "2000"),
    ],
)
def test_the_colour_bar_has_a_unit_and_short_numbers(field, high, title, last):
    scale = fields.Scale(field, 0.0, high)
    assert scale.title == title
    assert scale.labels()[0] == "0" and scale.labels()[-1] == last


def test_colours_run_through_their_stops():
    stops = np.linspace(0.0, 1.0, len(COLOURS))
    assert colour_map(stops).tolist() == [list(colour) for colour in COLOURS]


@pytest.mark.parametrize("metres, words", [(0.05, "5 cm"), (2.0, "2 m"), (0.002, "2 mm"), (5000.0, "5 km"), (1e-5, "10 µm")])
def test_lengths_for_people(metres, words):
    assert length_words(metres) == words


def test_cell_values_at_points_are_means_over_cells_that_know_them():
    cells = Cells(tets=[[0, 1, 2, 3], [1, 2, 3, 4]], triangles=[[4, 5, 6]], vertices=[7], body=[0, 0, 1, 2])
    found = averaged(cells, np.array([1.0, 3.0, np.nan, 9.0]), 9)
    np.testing.assert_allclose(found, [1, 2, 2, 2, 3, np.nan, np.nan, 9, np.nan])
