"""From a request to records: select, plan, execute, score, record."""
