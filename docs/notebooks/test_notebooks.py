"""The notebooks run from the first cell to the last, and are committed without outputs.

The Python examples of the front page run, too.
"""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

HERE = Path(__file__).parent
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    found = {path.stem for path in NOTEBOOKS}
    names = {"deblurring", "denoiser", "gradients", "mri", "simulator", "truthless", "volumes"}
    assert found == names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells), (
        "clear the outputs before committing"
    )
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert not list(tmp_path.iterdir()), "notebooks write into a temporary directory only"
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert pictures, "people see pictures, not tables of floats"


def test_front_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = (HERE.parent.parent / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "README.md", "exec"), {"__name__": "example"})
    assert "alpha" in capsys.readouterr().out
