"""Tables and pictures of results, for people."""
