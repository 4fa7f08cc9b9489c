"""Rules about pitfalls of storage benchmarks: valid programs that would not measure what they claim to."""
