"""What people ask of a store, and how it is answered from its tables."""

QUESTIONS = {
    "upstream": ("upstream", "where a dataset or a column comes from"),
    "downstream": ("upstream", "what is made from a dataset or a column"),
    "between": ("between", "the ways from one thing to another"),
}
"""Each question with the module here that answers it, and with its line in the list of commands."""
