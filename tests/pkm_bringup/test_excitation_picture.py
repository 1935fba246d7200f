"""Names of base parameters in pictures: whole terms, as many as there is room for."""

from pkm_bringup.views.excitation_picture import LONGEST, parameter_label


def test_a_short_expression_is_shown_whole():
    assert parameter_label('rod.mx - 0.5*slide.m + rod.m', 'kg m') == (
        'rod.mx - 0.5*slide.m + rod.m [kg m]'
    )
    exact = 'a.m + ' + 'b' * (LONGEST - 6)
    assert parameter_label(exact) == exact


def test_a_long_one_ends_after_a_whole_term():
    terms = [f'leg{number}_slider.m' for number in range(1, 9)]
    shown = parameter_label(' + '.join(terms))
    assert shown == 'leg1_slider.m + leg2_slider.m + …' and len(shown) <= LONGEST
    name = parameter_label('x' * (LONGEST + 1))
    assert len(name) == LONGEST and name.endswith('…')
