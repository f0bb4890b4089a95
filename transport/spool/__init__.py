"""
Keep events on disk until their receiver has them.

`store` is the spool of one application, `place` its directory and lock, `content` reads it from outside, `recovery`
takes over the spools of applications that have ended.
"""
