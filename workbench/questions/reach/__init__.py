"""What is upstream or downstream of a column, a table or a version, and how such an answer is written."""
