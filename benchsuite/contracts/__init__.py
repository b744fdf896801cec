"""What plugins, tasks and the host agree on: cards and typed protocols. Imports no torch."""
