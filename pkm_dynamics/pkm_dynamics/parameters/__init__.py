"""Which combinations of the standard parameters forces can show, and their names."""
