"""Names, units and ranges of fields."""

from __future__ import annotations

from dataclasses import replace

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


def test_what_lies_above_the_colours_is_told_under_them():
    """The range ends where all but 4 % lie, so a table may say more than the bar ends with."""
    scale = fields.scale("pressure", np.concatenate([np.linspace(1e3, 4e4, 99), [1.23e5]]), 0.3)
    assert scale.high == 4e4 and scale.note == "largest 123 kPa"
    assert fields.scale("pressure", np.linspace(1e3, 4e4, 99), 0.3).note == ""


def test_auto_takes_pressure_where_there_is_contact():
    both = ["von_mises", "velocity", "pressure"]
    assert fields.choose("auto", both, {0: "static", 1: "fem"}, contact=True) == "pressure"
    assert fields.choose("auto", both, {0: "static", 1: "fem"}, contact=False) == "von_mises"
    assert fields.choose("auto", ["velocity"], {0: "rigid"}, contact=True) == "speed"
    assert fields.choose("speed", both, {0: "rigid"}, contact=True) == "speed"


@pytest.mark.parametrize("size", [1e-3, 0.3, 100.0])
@pytest.mark.parametrize("field, own", [("speed", lambda s: (9.81 * s) ** 0.5), ("pressure", lambda s: 9810.0 * s), ("displacement", lambda s: s)])
def test_rounding_is_drawn_as_zero_and_its_scale_is_told(field, own, size):
    """What a million times less than bodies of that size have by themselves is no colour; a thousandth of it is one."""
    noise = np.linspace(-1e-7, 1e-7, 50) * own(size)
    scale = fields.scale(field, noise, size)
    assert scale.low == 0.0 and own(size) <= scale.high <= 1.4 * own(size)
    assert fields.scale(field, np.zeros(3), size).high == scale.high
    assert scale.fraction(noise).max() < 1e-6 and scale.note.startswith("all below")
    seen = fields.scale(field, np.abs(noise) * 1e4, size)
    assert seen.high < 2e-3 * own(size) and seen.note == "" and seen.fraction(np.abs(noise) * 1e4).max() > 0.5
    mixed = fields.scale(field, np.concatenate([noise, [0.1 * own(size)]]), size)
    assert mixed.low == 0.0 and mixed.high >= 0.1 * own(size)  # rounding below zero does not widen it


def test_a_resting_body_in_nanometres_a_second_is_at_rest():
    scale = fields.scale("speed", np.full(100, 3e-9), 0.3)
    assert scale.title == "speed [m/s]" and scale.labels()[-1] == "2" and scale.note == "all below 1.7 µm/s"


def test_touching_is_pressure_above_the_floor(falling):
    picture = falling.picture()
    assert not fields.touches(picture)
    count = len(picture.points)
    for pressure, told in ((1e-9, False), (1e3, True)):
        assert fields.touches(replace(picture, point_fields={**picture.point_fields, "pressure": np.full(count, pressure)})) is told


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
