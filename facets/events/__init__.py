"""
From the state of a run to the bytes of an OpenLineage event.

`build.event_of` redacts the state, builds the event from the facets in `run`, `dataset` and `micro_batches` and those
of the user's `providers`, and turns it into bytes. `encode` writes JSON, and defines the producer and the ids of
events. `cutting` keeps an event within its limit.
"""
