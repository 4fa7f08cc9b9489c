"""The command line.

A command makes some ten thousand objects that live until it ends. Python's default garbage collection takes a tenth of
the time of `zlang check` (bench/README.md), so it runs less often, and not at all at the end.
"""

import gc

gc.set_threshold(100_000, 20, 20)
