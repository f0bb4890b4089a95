"""The files of a project: in folders, in a revision of git, and in dbt's artifacts."""
