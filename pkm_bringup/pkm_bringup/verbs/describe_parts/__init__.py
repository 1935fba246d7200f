"""Parts of `pkm describe`, with options of their own."""
