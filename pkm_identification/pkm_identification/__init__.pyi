"""Types of what `__init__` imports when it is asked for."""

from pkm_identification.datasets import Recording as Recording
from pkm_identification.datasets import load as load
from pkm_identification.estimators.delay import estimate_delay as estimate_delay
from pkm_identification.estimators.estimator_options import estimators as estimators
from pkm_identification.estimators.filters.recursive_estimator import (
    RecursiveEstimator as RecursiveEstimator,
)
from pkm_identification.excitation import ExcitationDesign as ExcitationDesign
from pkm_identification.excitation import design_excitation as design_excitation
from pkm_identification.excitation import load_excitation as load_excitation
from pkm_identification.excitation import shipped_excitations as shipped_excitations
from pkm_identification.force_constants.drive_gains import DriveGains as DriveGains
from pkm_identification.force_constants.force_constants import ForceConstants as ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate as PayloadEstimate
from pkm_identification.identification import identify as identify
from pkm_identification.model_selection.identifiability import Identifiability as Identifiability
from pkm_identification.model_selection.identifiability import identifiability as identifiability
from pkm_identification.model_selection.reduction import Reduction as Reduction
from pkm_identification.model_selection.reduction import reduce_model as reduce_model
from pkm_identification.model_selection.ripple import FoundRipple as FoundRipple
from pkm_identification.model_selection.ripple import find_ripple as find_ripple
from pkm_identification.model_selection.ripple import find_ripples as find_ripples
from pkm_identification.result.diagnostics import Delay as Delay
from pkm_identification.result.reading import load_result as load_result
from pkm_identification.result.result import IdentificationResult as IdentificationResult
from pkm_identification.validation.validate import Validation as Validation
from pkm_identification.validation.validate import validate as validate
