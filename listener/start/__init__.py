"""How the listener is attached to an application, and how it ends with it."""
