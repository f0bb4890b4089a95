"""Questions about lineage, each answered from the tables of a store."""

QUESTIONS = {
    "upstream": ("upstream", "the sources of a dataset or a column"),
    "downstream": ("upstream", "everything that depends on a dataset or a column"),
    "between": ("upstream", "the paths between two datasets or columns"),
    "datasets": ("datasets", "the datasets of a store"),
    "jobs": ("jobs", "the jobs of a store"),
    "runs": ("runs", "the runs of a store"),
    "history": ("history", "the versions of a dataset"),
    "unused": ("unused", "columns and tables that no recorded job reads"),
    "blame": (".blame.blame", "which run made each version or row of a table"),
    "sql": ("sql", "query a store with SQL"),
    "diff": ("diff", "what changed in the lineage"),
}
"""Each question with the module that answers it, relative to this package, and its line in the list of commands."""
