"""Quality of recorded data: what is wrong with which samples, and which are left out."""

from pkm_identification.quality.report import KINDS, Defect, Quality

__all__ = ['KINDS', 'Defect', 'Quality']
