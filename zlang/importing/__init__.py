"""Importers, which turn files of other tools into programs."""

FILES = "a file of fio, bench-fio, vdbench or elbencho"
"""The files that can be imported, for the help of the command line."""
POOL_OPTION = "--zfs"
"""The option that names a pool of the machine."""
