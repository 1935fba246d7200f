"""Shares in texts."""

import pytest

from pkm_identification.percent import percent


@pytest.mark.parametrize(
    ('share', 'text'),
    [(0.00027, '0.027 %'), (0.834, '83 %'), (0.9999, '100 %'), (1.234, '120 %'), (0.0, '0 %')],
)
def test_shares_have_two_digits_and_no_exponent(share, text):
    assert percent(share) == text
