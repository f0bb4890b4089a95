"""What people ask of a store, and how it is answered from its tables."""
