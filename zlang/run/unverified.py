"""The sentence about results that cannot be verified; `sql` looks for it, and loads nothing else of this package."""

UNVERIFIED = "its results cannot be verified"
