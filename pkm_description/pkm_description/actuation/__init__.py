"""How joints are driven: more drives than degrees of freedom, hydraulic cylinders."""
