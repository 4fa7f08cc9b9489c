"""zlang: a small declarative language for storage experiments."""

__version__ = "0.1.0"
