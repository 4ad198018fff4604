"""Maps: one immutable lane graph, the procedural generators that draw it, and the readers that load it from files."""
