"""Ends with a status, as argparse does."""

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("day")
parser.parse_args()
