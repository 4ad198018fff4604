"""Maps that are drawn from a seed: roads, their junctions, signals and crossings."""
