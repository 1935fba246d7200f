"""Launch files, parameters, the pkm command line and the demo."""
