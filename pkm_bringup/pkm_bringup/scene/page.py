"""Scenes in pages of HTML: a player that needs neither server nor network.

The player is plain WebGL of this project: a page is smaller by 700 kB than one with a library for
graphics, and holds nobody else's code.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

from pkm_bringup.scene.encoded import encoded
from pkm_bringup.scene.scene import Scene

HEAD = """<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">"""
STYLE = """html, body { height: 100%; margin: 0 }
body > .pkm-player { min-height: 100%; box-sizing: border-box; border: 0 }"""
WITHOUT = 'This view needs scripts (WebGL 2).'


def player(scene: Scene) -> str:
    """Return an element that plays a scene.

    Its page holds `player_style`, and `player_script` once behind all players.
    """
    data = f'<script type="application/json">{encoded(scene)}</script>'
    return f'<figure class="pkm-player">{data}<noscript>{WITHOUT}</noscript></figure>'


@cache
def player_style() -> str:
    """Return the style element of the players."""
    return f'<style>\n{_asset("player.css")}</style>'


@cache
def player_script() -> str:
    """Return the script element that starts all players before it."""
    return f'<script>\n{_asset("player.js")}</script>'


def page(scene: Scene) -> str:
    """Return a whole page with one scene."""
    title = f'<title>{escape(scene.title)}</title>'
    head = f'{HEAD}\n{title}\n<style>{STYLE}</style>\n{player_style()}'
    body = f'{player(scene)}\n{player_script()}'
    parts = ('<!doctype html>', '<html lang="en">', '<head>', head, '</head>', '<body>', body)
    return '\n'.join((*parts, '</body>', '</html>', ''))


def _asset(name: str) -> str:
    return (files('pkm_bringup.scene') / name).read_text(encoding='utf-8')
