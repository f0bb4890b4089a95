"""PySpark's classes as a script meets them: each call that needs data is answered without any."""
