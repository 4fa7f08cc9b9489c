"""The command line.

A command makes some ten thousand objects that live until it ends. Looking for garbage among them as often as Python
does takes a tenth of `zlang check` (bench/README.md), so it is looked for less often, and not at all at the end.
"""

import gc

gc.set_threshold(100_000, 20, 20)
