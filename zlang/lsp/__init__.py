"""The language server: what `zlang check` says, and what there is to write, for editors."""
