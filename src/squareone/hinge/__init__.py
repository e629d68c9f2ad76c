"""Support vector machines: both hinge losses, by least-squares systems of changing rows."""
