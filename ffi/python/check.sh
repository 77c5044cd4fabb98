#!/usr/bin/env bash
# What CI asks of the wheel that README.md has built and installed in build/python: its size, what
# it links, how fast it is there, its tests and its types.
#
#     ffi/python/check.sh        from the top of the repository
set -euo pipefail
cd "$(dirname "$0")/../.."
python=build/python/bin/python
fail() { echo "$1" >&2; exit 1; }

wheel=$(echo build/wheels/undertone-*-cp310-abi3-*.whl)
[ -f "$wheel" ] || fail "no single wheel for all versions of Python in build/wheels: $wheel"
ffi/python/check-wheel.sh "$wheel"

# Processor time, the best of five, because other programs may use the processor.
$python - <<'PYTHON'
import subprocess, sys
run = lambda code: float(subprocess.run([sys.executable, "-c", "import time; s = time.process_time(); " + code + "; print(time.process_time() - s)"], capture_output=True, text=True, check=True).stdout)
whole, alone = min(run("import undertone") for _ in range(5)), min(run("import numpy") for _ in range(5))
print(f"import: {whole:.3f} s, of that NumPy {alone:.3f} s")
sys.exit(whole >= 0.3 and "importing takes 0.3 s or more")
PYTHON

# Without pandas, Polars and PyArrow, which users may lack.
$python -m pip install --quiet --constraint ffi/python/requirements.txt pytest numpy
$python -X dev -m pytest ffi/python/tests/test_releases.py
# With them; the rest of this script needs them.
$python -m pip install --quiet --requirement ffi/python/requirements.txt
$python -X dev -m pytest ffi/python/tests
$python -X dev -m pytest -s ffi/python/tests/test_faces.py | tests/faces/ran.sh Python
$python -m mypy --config-file ffi/python/pyproject.toml ffi/python/{python,tests,bench}
$python -m mypy.stubtest undertone._undertone

# The notebook runs from an empty kernel. The file has no outputs.
$python - ffi/python/examples/*.ipynb <<'PYTHON'
import sys
import nbclient, nbformat

for path in sys.argv[1:]:
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if any(cell.outputs or cell.execution_count for cell in code):
        sys.exit(f"{path} has outputs; clear them")
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [output for cell in code for output in cell.outputs]
    drawn = sum("image/png" in output.get("data", {}) for output in shown)
    page = sum("&lt;svg" in output.get("data", {}).get("text/html", "") for output in shown)
    errors = [output.text for output in shown if output.get("name") == "stderr"]
    print(f"{path}: {drawn} plots, {page} page")
    if (drawn, page) != (3, 1) or errors:
        sys.exit(f"{path}: 3 plots and a page are expected, and no warning: {errors}")
PYTHON
