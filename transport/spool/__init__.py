"""Events on disk until their receiver has them."""
