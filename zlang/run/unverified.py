"""The sentence about results that cannot be verified; `sql` searches for it, and loads nothing else of this package."""

UNVERIFIED = "its results cannot be verified"
