"""From records and analyses to the states of runs. Pure."""
