"""Events through a transport of openlineage-python."""
