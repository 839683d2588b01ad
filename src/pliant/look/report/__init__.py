"""The page a user mails to a colleague: one html file that says what was simulated, what happened, and how to do it again."""

from pliant.look.report.page import report

__all__ = ["report"]
