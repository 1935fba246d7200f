"""What a mechanism can do: workspace, singularities, clearances, contributions of its parts."""
