"""The package's own source files as syntax trees, each parsed once a process."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a source file; whoever asks changes nothing in it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a source file's tree."""
    return tuple(ast.walk(tree_of(path)))
