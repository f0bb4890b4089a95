"""
From the state of a run to the bytes of an OpenLineage event.

`build.event_of` makes it: it redacts the state, and builds the event from the facets in `run`, `job`, `dataset` and
`column_lineage`, and those of `providers`. `marquez` makes names acceptable to receivers, `ids` makes ids; `encode` and
`size` turn the event into bytes.
"""
