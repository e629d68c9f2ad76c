"""Fitting: the procedure from a checked request to a result that answers what is asked later."""
