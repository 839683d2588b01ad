"""Runs on disk: the journal, the run file that ParaView opens, reading them back, and other formats."""

from pliant.record.export import export
from pliant.record.journal import JournalWriter, Record, read_journal
from pliant.record.run import Cells, Run
from pliant.record.runfile import Recorder, estimate_bytes, fold, human, resume_writer
from pliant.record.unrecorded import Unrecorded

__all__ = [
    "Cells",
    "JournalWriter",
    "Record",
    "Recorder",
    "Run",
    "Unrecorded",
    "estimate_bytes",
    "export",
    "fold",
    "human",
    "read_journal",
    "resume_writer",
]
