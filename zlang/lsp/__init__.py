"""The language server: the findings of `zlang check`, and completions, for editors."""
