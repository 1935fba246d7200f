"""Verbs of the command `pkm`: `add_parser(subparsers)` and `run(arguments) -> int` each."""
