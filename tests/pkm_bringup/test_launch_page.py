"""The page of the launch files against what they declare."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BRINGUP = ROOT / 'pkm_bringup'


def declared() -> set[str]:
    """Names of the arguments that launch files declare, by their sources."""
    found: set[str] = set()
    for path in (BRINGUP / 'launch').glob('*.launch.py'):
        tree = ast.parse(path.read_text('utf-8'))
        tables = {
            each.targets[0].id: ast.literal_eval(each.value)
            for each in tree.body
            if isinstance(each, ast.Assign)
            and isinstance(each.targets[0], ast.Name)
            and isinstance(each.value, ast.Dict)
        }
        found |= {*tables.get('TOPICS', {}).values(), *tables.get('SERVO', {})}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                name = call.args[0] if call.args else None
                if call.func.id == 'DeclareLaunchArgument' and isinstance(name, ast.Constant):
                    found.add(str(name.value))
    return found


def test_the_page_has_each_argument() -> None:
    page = (BRINGUP / 'doc' / 'launch.md').read_text('utf-8')
    table = page.partition('| argument |')[2].partition('\n\n')[0]
    told = re.findall(r'^\| `(\w+)`', table, re.MULTILINE)
    assert len(told) == len(set(told))
    assert set(told) == declared()
