"""A results database in, tables out. Rule: every figure comes with its n and its uncertainty."""
