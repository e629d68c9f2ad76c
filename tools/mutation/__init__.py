"""Small faults put into the code one at a time, to see which test suite notices them."""
