"""The linear problem: rows of runs, free and fixed parameters, prior, weighted least squares."""
