"""Recorded data: reading and writing of bags, CSV and NPZ files."""

from pkm_identification.datasets.bag_writer import BagWriter, partial_path
from pkm_identification.datasets.dataset import Dataset, Truth
from pkm_identification.datasets.load import load

__all__ = ['BagWriter', 'Dataset', 'Truth', 'load', 'partial_path']
