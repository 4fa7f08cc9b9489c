"""Addresses of the pages of the documentation, on the site where it is published."""

from __future__ import annotations

import os

from zlang.text import visible

SITE = "ZLANG_DOCS"
"""The variable of the environment with the address at which the site of the documentation is published."""


def address(page: str) -> str:
    """The address of a page; without `ZLANG_DOCS` it is relative to the site."""
    site = os.environ.get(SITE, "").rstrip("/")
    return visible(f"{site}/{page}" if site else page)


def page_of_finding(code: str) -> str:
    """The page of an error or of a lint rule."""
    return f"{'lints' if code.startswith('ZL') else 'errors'}/{code}.html"
