"""Random examples are the same in every run, so that a test that passed here passes elsewhere; PLIANT_FUZZ=1 draws new ones."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads: on a busy machine its threads wait for each other thirty times as long

from hypothesis import settings  # noqa: E402

settings.register_profile("patient", deadline=None)  # how long an example takes says nothing on a busy machine
settings.load_profile("patient")
settings.register_profile("steady", settings.get_profile("patient"), derandomize=True)
if os.environ.get("PLIANT_FUZZ", "") in ("", "0"):
    settings.load_profile("steady")
