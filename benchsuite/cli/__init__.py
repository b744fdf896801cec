"""The command line. Only :mod:`benchsuite.cli.main` is imported before a command is known."""
