"""The page: a lineage graph as one HTML file that needs no network."""
