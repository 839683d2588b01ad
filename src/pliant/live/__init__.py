"""Runs and simulations in the browser: one page, fed by a small server on this machine or by data inside it."""
