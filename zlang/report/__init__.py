"""Reports from a results database. Rule: every figure comes with its n and its uncertainty."""
