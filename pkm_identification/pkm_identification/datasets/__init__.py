"""Recorded data: reading and writing of bags, CSV and NPZ files."""

from pkm_identification.datasets.bags.bag_writer import BagWriter, partial_path
from pkm_identification.datasets.dataset import Dataset, Truth
from pkm_identification.datasets.load import load
from pkm_identification.datasets.long_dataset import LongDataset

__all__ = ['BagWriter', 'Dataset', 'LongDataset', 'Truth', 'load', 'partial_path']
