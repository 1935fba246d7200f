"""Write the tables of options into the pages of the documentation, as they are declared.

Usage: python scripts/write_option_tables.py
"""

from pathlib import Path

from pkm_identification.options import with_tables

PAGES = Path(__file__).resolve().parents[1] / 'pkm_identification'

if __name__ == '__main__':
    for page in PAGES.rglob('*.md'):
        page.write_text(with_tables(page.read_text(encoding='utf-8')), encoding='utf-8')
