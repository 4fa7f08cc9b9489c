"""Rules about pitfalls of storage benchmarks: valid programs that would measure something else than they say."""
