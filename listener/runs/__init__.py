"""Turn records and analyses into the states of runs. Pure."""
