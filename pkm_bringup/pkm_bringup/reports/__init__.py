"""The report: what a run measured and found, as one HTML page."""
