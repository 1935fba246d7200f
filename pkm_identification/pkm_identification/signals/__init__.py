"""Signals: period averaging, noise covariances, derivatives of measured motions."""

from pkm_identification.signals.long_signals import LongSignals
from pkm_identification.signals.process import SignalOptions, process
from pkm_identification.signals.signals import Signals

__all__ = ['LongSignals', 'SignalOptions', 'Signals', 'process']
