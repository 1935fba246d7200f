"""Signals: period averaging, noise covariances, derivatives of measured motions."""

from pkm_identification.signals.process import SignalOptions, Signals, process

__all__ = ['SignalOptions', 'Signals', 'process']
