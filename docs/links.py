"""
Turn the links of a document, which lead to files beside it, into addresses in the repository.

The documentation site needs them for files that are no pages of it, and PyPI for all links of the README.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE_LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)")
_ANCHOR_LINK = re.compile(r"(\]\()(?=#)")
_PICTURES = (".svg", ".png")


def setting(name: str) -> str:
    """Return the text of a key of `pyproject.toml`, such as `Source`, the one that names the repository."""
    found = re.search(rf'^{name} = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"pyproject.toml has no key {name!r}, which docs/links.py needs: add it")
    return found[1]


def address(path: Path, revision: str = "main") -> str:
    """Return the address of a file or a folder in the repository; of a picture, the address of its bytes."""
    kind = "tree" if (ROOT / path).is_dir() else "raw" if path.suffix in _PICTURES else "blob"
    return f"{setting('Source')}/{kind}/{revision}/{path.as_posix()}"


def published_readme() -> str:
    """Return the README with addresses in place of all links, as they are in the release of this version."""
    revision = f"v{setting('version')}"
    text = (ROOT / "README.md").read_text("utf-8")
    text = FILE_LINK.sub(lambda link: link[1] + address(Path(link[2]), revision), text)
    return _ANCHOR_LINK.sub(lambda link: link[1] + address(Path("README.md"), revision), text)
