"""Read queries in the SQL of other databases: their tables, and the sources of each of their columns."""
