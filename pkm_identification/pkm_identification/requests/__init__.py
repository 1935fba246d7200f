"""Typed requests and their answers, the same for the command line and for the services.

A request checks itself when it is made. One function answers it; where it cannot, it raises
`Refused` with a code.
"""
