"""Runs on disk: the journal, the run file that ParaView opens, reading them back, and other formats."""

from pliant.record.export import export
from pliant.record.journal import JournalWriter, read_journal
from pliant.record.records import Record
from pliant.record.reduce import Reduction, reduced_copy
from pliant.record.reopen import fold, repair, resume_writer
from pliant.record.run import Cells, Run
from pliant.record.runfile import Recorder, estimate_bytes, human
from pliant.record.unrecorded import Unrecorded

__all__ = [
    "Cells",
    "JournalWriter",
    "Record",
    "Recorder",
    "Reduction",
    "Run",
    "Unrecorded",
    "estimate_bytes",
    "export",
    "fold",
    "human",
    "read_journal",
    "reduced_copy",
    "repair",
    "resume_writer",
]
