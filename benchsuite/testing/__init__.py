"""What plugin authors test with: small graphs and jobs, and the contract's checks."""
