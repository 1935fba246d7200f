"""Recorded data: reading and writing of bags, CSV and NPZ files."""

from pkm_identification.datasets.bags.bag_writer import BagWriter, partial_path
from pkm_identification.datasets.load import load
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.tidying import tidied
from pkm_identification.datasets.truth import Truth

__all__ = ['BagWriter', 'Recording', 'Truth', 'load', 'partial_path', 'tidied']
