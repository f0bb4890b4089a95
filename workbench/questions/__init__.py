"""What people ask of a store, and how it is answered from its tables."""

QUESTIONS = {
    "upstream": ("upstream", "where a dataset or a column comes from"),
    "downstream": ("upstream", "what is made from a dataset or a column"),
    "between": ("between", "the ways from one thing to another"),
    "datasets": ("datasets", "the datasets of a store"),
    "jobs": ("jobs", "the jobs of a store"),
    "runs": ("runs", "the runs of a store"),
    "history": ("history", "the versions of a dataset"),
    "unused": ("unused", "columns and tables that no recorded job reads"),
    "blame": ("blame", "which run made each version of a table"),
    "sql": ("sql", "ask a store by a query of your own"),
    "diff": ("diff", "what changed in the lineage"),
}
"""Each question with the module here that answers it, and with its line in the list of commands."""
