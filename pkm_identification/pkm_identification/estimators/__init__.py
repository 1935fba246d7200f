"""Estimators by concept; `registry` finds them by name. Each solves the problem of `regression`."""
