"""Transforms between signals and their spectra."""
