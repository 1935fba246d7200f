"""From recordings to motion and forces: periods averaged, other motions filtered."""

from pkm_identification.signals.platform_motion import platform_motion
from pkm_identification.signals.process import process
from pkm_identification.signals.signal_options import SignalOptions
from pkm_identification.signals.signals import Signals

__all__ = ['SignalOptions', 'Signals', 'platform_motion', 'process']
