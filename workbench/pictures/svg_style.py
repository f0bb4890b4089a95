"""The style of graphs as SVG, in light and dark themes."""

from __future__ import annotations

CHANGES = ("added", "removed", "changed")
"""What may have happened to an edge between two times."""
# In notebooks these attributes of the page show whether the theme is dark; elsewhere the system's setting counts.
_LIGHT = (
    "--ground:#f7f8fa;--paper:#fff;--ink:#1c2430;--faint:#5b6675;--line:#c3cad4;--edge:#6b7a8c;--job:#e5ebf3;"
    "--good:#15803d;--bad:#b91c1c;--open:#a16207;--doubt:#7e22ce;--focus:#1d4ed8"
)
_DARK = (
    "--ground:#12161c;--paper:#1c222b;--ink:#e6eaf0;--faint:#9aa7b6;--line:#3b4655;--edge:#8393a7;--job:#2a3442;"
    "--good:#4ade80;--bad:#f87171;--open:#facc15;--doubt:#d8b4fe;--focus:#93c5fd"
)
CLASS = "openlineage-graph"
STYLE = "".join(
    (
        f".{CLASS}{{{_LIGHT}}}",
        f"@media (prefers-color-scheme:dark){{.{CLASS}{{{_DARK}}}}}",
        f"[data-jp-theme-light=true] .{CLASS},.vscode-light .{CLASS}{{{_LIGHT}}}",
        f"[data-jp-theme-light=false] .{CLASS},.vscode-dark .{CLASS}{{{_DARK}}}",
        f"@media print{{.{CLASS}{{{_LIGHT}}}}}",
        *(
            f".{CLASS} {rule}"
            for rule in (
                "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:var(--ink);direction:ltr}",
                ".ground{fill:var(--ground)}",
                ".paper{fill:var(--paper);stroke:var(--line)}",
                ".start .paper{stroke:var(--focus);stroke-width:2}",
                ".row.start text{fill:var(--focus);font-weight:600}",
                ".head{fill:var(--job)}",
                ".name{font-weight:600}",
                ".faint{fill:var(--faint)}",
                ".job .paper{fill:var(--job)}",
                ".job.bad .paper{stroke:var(--bad);stroke-width:2}",
                ".job.open .paper{stroke:var(--open);stroke-width:2;stroke-dasharray:5 3}",
                ".mark.good{fill:var(--good)}",
                ".mark.bad{fill:var(--bad)}",
                ".mark.open{fill:var(--open)}",
                ".mark.doubt{fill:var(--doubt)}",
                "path{fill:none;stroke:var(--edge)}",
                "path.flow{stroke:var(--line);stroke-width:1.5}",
                "path.influence{stroke-dasharray:5 4}",
                "path.doubt{stroke:var(--doubt);stroke-dasharray:2 3;stroke-width:1.5}",
                "path.end{fill:var(--edge);stroke:none}",
            )
        ),
    )
)
STYLE_OF_CHANGES = "".join(
    f".{CLASS} path.{change}{{stroke:var(--{colour})}}"
    for change, colour in zip(CHANGES, ("good", "bad", "open"), strict=True)
)
# Only added if the picture has such a box, so that all other pictures have the same style.
STYLE_OF_PARTS = f".{CLASS} .part .paper{{stroke:var(--faint);stroke-dasharray:4 2}}.{CLASS} .part .head{{fill:none}}"
