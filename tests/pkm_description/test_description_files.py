"""Files: xacro includes and arguments, and hostile or broken ones, wherever they are included."""

from __future__ import annotations

import os

import mechanisms
import pytest

from pkm_description import DescriptionError, load
from pkm_description.description_files import split_arguments

XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


@pytest.fixture
def folder(tmp_path):
    """A four-bar in two xacro files; the crank's length is an argument."""
    bar = mechanisms.four_bar()
    body = bar.urdf.split('<robot name="four_bar">')[1].split('</robot>')[0]
    assert body.count('0.2 0.0 0.0') == 1
    body = body.replace('0.2 0.0 0.0', '$(arg crank) 0.0 0.0')
    (tmp_path / 'parts.xacro').write_text(f'<robot {XACRO}>{body}</robot>')
    (tmp_path / 'bar.urdf.xacro').write_text(
        f'<robot name="bar" {XACRO}><xacro:arg name="crank" default="0.2"/>'
        '<xacro:include filename="parts.xacro"/></robot>'
    )
    (tmp_path / 'bar.yaml').write_text(bar.yaml_text)
    return tmp_path


def test_includes_and_arguments(folder):
    path = folder / 'bar.urdf.xacro'
    assert load(path).joint('coupler_joint').origin.position[0] == 0.2
    assert load(path, {'crank': '0.21'}).joint('coupler_joint').origin.position[0] == 0.21
    assert load(f'{path} crank:=0.22').joint('coupler_joint').origin.position[0] == 0.22
    with pytest.raises(DescriptionError, match="no xacro argument 'cranck'; arguments are crank"):
        load(f'{path} cranck:=0.22')


def test_arguments_behind_a_path_with_spaces():
    text = '/a folder/b.urdf.xacro x:=1 name:='
    assert split_arguments(text) == ('/a folder/b.urdf.xacro', {'x': '1', 'name': ''})
    assert split_arguments('/a folder/b.urdf') == ('/a folder/b.urdf', {})


def test_arguments_of_what_takes_none(tmp_path):
    plain = tmp_path / 'bar.urdf'
    plain.write_text('<robot name="bar"/>')
    with pytest.raises(DescriptionError, match=r"bar.urdf' takes no arguments \(crank\)"):
        load(f'{plain} crank:=0.2')
    with pytest.raises(DescriptionError, match="no xacro argument 'crank'; arguments are none"):
        load('palida crank:=0.2')


def grown(steps: int, first: str, step: str, last: str) -> str:
    """A xacro file of which each step is twice the one before."""
    steps_text = ''.join(step.format(k, k - 1) for k in range(1, steps + 1))
    return f'<robot {XACRO}>{first}{steps_text}{last}</robot>'


MACROS = grown(
    60,
    '<xacro:macro name="m0"><link name="x"/></xacro:macro>',
    '<xacro:macro name="m{0}"><xacro:m{1}/><xacro:m{1}/></xacro:macro>',
    '<xacro:m60/>',
)
TEXTS = grown(
    60,
    '<xacro:property name="p0" value="ha"/>',
    '<xacro:property name="p{0}" value="${{p{1}}}${{p{1}}}"/>',
    '<link name="${p60}"/>',
)
BLOCKS = grown(
    60,
    '<xacro:property name="b0"><link name="x"/></xacro:property>',
    '<xacro:property name="b{0}"><p><xacro:insert_block name="b{1}"/>'
    '<xacro:insert_block name="b{1}"/></p></xacro:property>',
    '<xacro:insert_block name="b60"/>',
)
LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><robot>&b;</robot>'


@pytest.mark.parametrize(
    'content, message',
    [
        (LAUGHS, r"parts\.xacro' declares a document type or entities: refused"),
        (
            f'<robot {XACRO}><xacro:include filename="parts.xacro"/></robot>',
            'deep.*includes itself',
        ),
        (f'<robot {XACRO}><xacro:include filename="bar.urdf.xacro"/></robot>', 'includes itself'),
        (
            f'<robot {XACRO}><xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/></robot>',
            'calls itself without end',
        ),
        (MACROS, 'expands to more than 5000 elements, at last <'),
        (BLOCKS, 'expands to more than 5000 elements, at last <'),
        (TEXTS, 'has a value of more than 5000000 characters'),
        ('<robot>' + ' ' * 5_000_001 + '</robot>', 'has 5000016 bytes; at most'),
        (f'<robot {XACRO}><xacro:include filename="gone.xacro"/></robot>', 'gone.xacro'),
        ('<robot><link name="a"></robot>', r"parts\.xacro' is not well-formed"),
        (f'<robot {XACRO}><link name="${{nothing}}"/></robot>', "'nothing' is not defined"),
    ],
)
def test_hostile_and_broken_includes_are_named(folder, content, message):
    (folder / 'parts.xacro').write_text(content)
    with pytest.raises(DescriptionError, match=message):
        load(folder / 'bar.urdf.xacro')
    # nothing stays behind of it
    (folder / 'parts.xacro').write_text(f'<robot {XACRO}><link name="alone"/></robot>')
    with pytest.raises(DescriptionError, match="no link is named 'platform'"):
        load(folder / 'bar.urdf.xacro')


def test_optional_includes_may_be_missing(folder):
    path = folder / 'bar.urdf.xacro'
    path.write_text(
        path.read_text().replace(
            '</robot>', '<xacro:include filename="gone.xacro" optional="true"/></robot>'
        )
    )
    assert load(path).name == 'bar'


def test_an_included_pipe_is_not_waited_for(folder):
    (folder / 'parts.xacro').unlink()
    os.mkfifo(folder / 'parts.xacro')
    with pytest.raises(DescriptionError, match=r"parts\.xacro': it is not a file"):
        load(folder / 'bar.urdf.xacro')


def test_xacro_elements_in_a_plain_urdf(folder):
    (folder / 'plain.urdf').write_text((folder / 'bar.urdf.xacro').read_text())
    with pytest.raises(DescriptionError, match=r'name the file \.urdf\.xacro'):
        load(folder / 'plain.urdf')
    with pytest.raises(DescriptionError, match=r'takes no arguments \(crank\)'):
        load(folder / 'plain.urdf', {'crank': '1'})
