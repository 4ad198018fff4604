"""Races, statistics, the leaderboard, published claims and the command line."""
