"""The lineage graph as data: what programs read and pages draw, whatever it was made from."""
