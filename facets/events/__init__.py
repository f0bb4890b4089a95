"""From a run's state to the bytes of an OpenLineage event."""
