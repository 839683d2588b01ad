"""Random examples are the same in every run, so that a test that passed here passes elsewhere; PLIANT_FUZZ=1 draws new ones."""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
if os.environ.get("PLIANT_FUZZ", "") in ("", "0"):
    settings.load_profile("steady")
