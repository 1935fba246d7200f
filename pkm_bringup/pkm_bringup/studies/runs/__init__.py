"""What the runs of studies are made of: plants, recordings, designs, spread over many runs."""
