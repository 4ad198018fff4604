"""Rows of the catalogue of environments, a file a domain: strings and numbers, nothing to import."""
