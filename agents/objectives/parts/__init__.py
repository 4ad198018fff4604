"""Formulas that several methods share, under the names the field gives them."""
