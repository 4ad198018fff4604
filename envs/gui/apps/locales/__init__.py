"""Translations of all apps' texts, a file a language."""
