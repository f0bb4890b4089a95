"""
Events to files: one local file, or objects of a Hadoop file system.

`transport` chooses between `local`, with `rotation`, and `objects`, which writes through a `filesystem`.
"""
