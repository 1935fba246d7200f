"""Claims of [P]: bounded errors on an H4."""

from __future__ import annotations

from claim import Claim

CLAIMS: tuple[Claim, ...] = ()
