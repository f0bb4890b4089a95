"""
The login in a URL: each pattern that finds or cuts one, in one place.

They differ in what surrounds the URL, and none takes `host:port/` for a login. `transport.address` has its own pattern,
because `transport` imports nothing from `facets`.
"""

from __future__ import annotations

import re

_LOGIN = r"[^/@:]*:(?!\d+(?:/|$))[^@]*@"

LOGIN = re.compile(_LOGIN)
"""In the part of a URL after its `//`: up to the next `@`."""

LOGIN_OF_URL = re.compile(f"//{_LOGIN}")
"""The same with the slashes, in a text that need not be a URL."""

LOGIN_IN_TEXT = re.compile(r"[^/@:?#]*:(?!\d{1,5}(?:[/?#]|$))\S*@")
"""In the part of a URL after its `//`, inside another text: up to the last `@` before white space."""

PASSWORD_IN_TEXT = re.compile(r"//[^/@:\s]{0,200}:([^@\s]{1,400})@")
"""The password (group 1) of a URL in a text; bounded, since the text may be a megabyte of anything."""
