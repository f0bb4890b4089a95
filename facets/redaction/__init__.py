"""What is taken out of a text before anybody sees it."""
