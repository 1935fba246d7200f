"""Build rules of the package for ament_python, colcon and pip."""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'pkm_bringup'
DATA_PATTERNS = [
    f'*.{kind}' for kind in 'yaml yml xacro urdf xml json csv typed pyi js css j2'.split()
]


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
    for folder in ('launch', 'config', 'policies', 'rviz', 'foxglove'):
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
        'pkm_control',
        'pkm_description',
        'pkm_dynamics',
        'pkm_identification',
        'cycler>=0.12',
        'Jinja2>=3.1',
        'joblib>=1.6',
        'matplotlib>=3.10',
        'mujoco>=3.17',
        'numpy>=1.26',
        'pillow>=12.3',
        'PyYAML>=6',
        'rich>=15',
        'scipy>=1.15',
        'threadpoolctl>=3.8',
    ],
    zip_safe=False,
    maintainer='PKM Identification maintainers',
    maintainer_email='maintainers@example.com',
    description=('Launch files, parameters, the pkm command line and the demo.'),
    license='Apache-2.0',
    extras_require={
        'test': ['pytest'],
        'scheduler': ['distributed'],
        'bench': ['pin'],
        'casadi': ['casadi'],
        'drake': ['drake'],
        'view': ['trimesh', 'viser'],
        # ROS 2 from wheels, those that the wheel of pkm_msgs is built with
        'ros': [
            'pkm_msgs',
            'ros-rclpy[fastrtps]==7.1.6',
            'ros-jazzy-diagnostic-msgs==5.3.6',
            'ros-jazzy-sensor-msgs==5.3.6',
            'ros-jazzy-std-srvs==5.3.6',
            'ros-jazzy-trajectory-msgs==5.3.6',
            'ros-jazzy-visualization-msgs==5.3.6',
        ],
    },
    entry_points={'console_scripts': ['pkm = pkm_bringup.cli:main']},
)
