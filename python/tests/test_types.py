"""Types of the package, and that stubs tell what the extension module has."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
FOLDER = Path(__file__).parent.parent


def test_types():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_stubs():
    ignored = Path("ignored.txt")
    ignored.write_text("ncde._ncde.__all__\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "ncde._ncde", "--allowlist", str(ignored), "--ignore-disjoint-bases"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
