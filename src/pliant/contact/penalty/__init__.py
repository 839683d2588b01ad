"""Penalty contact on an enduring set of feature pairs: discrete and continuous in time."""
