"""The command line: from a table in a file to a model, predictions and a report.

Nothing here is imported but :mod:`.commands`, whose functions import what they need: help, the
version and completion load no numerical library.
"""
