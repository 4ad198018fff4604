"""Published claims and their experiments, one file a paper; :mod:`.harness` runs them, :mod:`.papers` lists them."""
