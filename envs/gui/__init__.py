"""Graphical user interfaces: screens in pixels and accessibility trees, acted on in words (``tap 0.42 0.31``)."""
