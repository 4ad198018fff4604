"""Who won, with intervals: rows from finished runs, as a terminal table and as one self-contained HTML page."""

from .board import Board, Metric, Result, Section, Standing, leaderboard
from .page import write_page
from .terminal import print_leaderboard

__all__ = ["Board", "Metric", "Result", "Section", "Standing", "leaderboard", "print_leaderboard", "write_page"]
