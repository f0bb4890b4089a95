"""A script as both processes know it: the request to run it, its text, its places, and the records of what it did."""
