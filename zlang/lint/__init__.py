"""What is sound and would still measure something else than it says: the pitfalls of storage benchmarks as rules."""
