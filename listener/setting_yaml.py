"""An `openlineage.yml` as dotted names; in a module of its own, because it alone needs a YAML parser."""

from __future__ import annotations

import yaml
from openlineage_pyspark.listener.setting_sources import flatten


def parse_yaml(text: str) -> tuple[tuple[tuple[str, object], ...], str | None]:
    """Read a configuration file.

    Args:
        text: the file's content.

    Returns:
        The dotted names with their values; and what is wrong with the file, without a word of its content,
        because a parser's own message may quote a secret.
    """
    try:
        content = yaml.safe_load(text)
        if content is not None and not isinstance(content, dict):
            return (), "holds no keys"
        return tuple(flatten(content or {})), None
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return (), f"is no valid YAML{where}"
    # The parser's own conversions let these through, for an impossible date or a file nested without end.
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return (), "is no valid YAML"
