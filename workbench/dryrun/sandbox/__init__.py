"""The surroundings of a script outside of Spark: a guard, its inputs, files, errors, and modules that are replaced."""
