"""Events to files: local ones, and objects of a Hadoop file system."""
