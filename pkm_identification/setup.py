"""Build rules of the package for ament_python, colcon and pip."""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_identification'
DATA_PATTERNS = [f'*.{kind}' for kind in 'yaml yml xacro urdf xml json csv typed pyi'.split()]


def package_files() -> list[str]:
    """Data files inside the Python package, relative to it."""
    root = Path(PACKAGE)
    return sorted(
        {str(path.relative_to(root)) for pattern in DATA_PATTERNS for path in root.rglob(pattern)}
    )


def shared_files() -> list[tuple[str, list[str]]]:
    """Resource marker, manifest, launch and configuration files for the share folder."""
    share = Path('share') / PACKAGE
    files = {
        'share/ament_index/resource_index/packages': [f'resource/{PACKAGE}'],
        str(share): ['package.xml'],
    }
    for folder in ('launch', 'config', 'rviz', 'foxglove'):
        for path in sorted(p for p in Path(folder).rglob('*') if p.is_file()):
            if '__pycache__' not in path.parts:
                files.setdefault(str(share / path.parent), []).append(str(path))
    return list(files.items())


setup(
    name=PACKAGE,
    version='1.0.0',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: package_files()},
    data_files=shared_files(),
    python_requires='>=3.10',
    install_requires=[
        'pkm_description',
        'pkm_dynamics',
        'clarabel>=0.11',
        'joblib>=1.6',
        'numpy>=1.26',
        'piqp>=0.6',
        'PyYAML>=6',
        'rosbags>=0.11',
        'scipy>=1.15',
        'threadpoolctl>=3.8',
        'transforms3d>=0.4.2',
    ],
    zip_safe=False,
    maintainer='PKM Identification maintainers',
    maintainer_email='maintainers@example.com',
    description=(
        'Excitation, recording, datasets, parameter estimation and validation for '
        'parallel robots, with their servers.'
    ),
    license='Apache-2.0',
    extras_require={'test': ['pytest'], 'parquet': ['pyarrow']},
    entry_points={
        'console_scripts': [
            'excitation_server = pkm_identification.nodes.excitation_server:main',
            'estimation_server = pkm_identification.nodes.estimation_server:main',
            'force_monitor = pkm_identification.nodes.force_monitor:main',
            'online_estimator = pkm_identification.nodes.online_estimator:main',
        ]
    },
)
