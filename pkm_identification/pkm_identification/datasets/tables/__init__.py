"""Tables of samples: CSV and NPZ files."""
