"""A notebook in JupyterLab, in a real browser: it runs, draws the graph, and its player steps through backward.

    python -m pytest -m browser
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass

import nbformat
import pytest
from notebooks.execute import ROOT

from numgrad.viz.rendering.style import STYLES

NOTEBOOK = ROOT / "notebooks" / "2_the_graph.ipynb"

#: The colour of a box that is lit; those that backward has come by have the same frame.
LIT = STYLES["lit"].fill

INSTALL = """
The browser test needs JupyterLab, playwright and a Chromium browser:
    python -m pip install -e ".[test,browser]"
    python -m playwright install chromium      (or: apt-get install chromium)
"""

#: JupyterLab without news, and with all cells of a notebook on the page.
SETTINGS = {
    "apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker.jupyterlab-settings": {"windowingMode": "none"},
}

#: Environment variables of the directories in which Jupyter keeps its state.
HOMES = (
    "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR",
    "MPLCONFIGDIR",
)

#: Milliseconds that a page, and a notebook with kernels to compile, may take.
SOON, LATE = 30_000, 240_000


def wait_until(condition, milliseconds, complaint):
    deadline = time.monotonic() + milliseconds / 1000
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.1)


@dataclass
class Lab:
    """A running JupyterLab."""

    address: str
    token: str

    def page(self, name):
        """The address of a notebook."""
        return f"{self.address}/lab/tree/{name}?token={self.token}"

    def answers(self):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.address}/api", timeout=5):
            return True
        return False

    def kernels(self):
        """The states of its kernels: starting, idle or busy."""
        with urllib.request.urlopen(f"{self.address}/api/kernels?token={self.token}", timeout=5) as answer:
            return [kernel["execution_state"] for kernel in json.load(answer) if kernel["connections"]]


@pytest.fixture
def lab(tmp_path):
    """JupyterLab in an empty home directory, with a copy of the notebook without its outputs."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    work, settings = tmp_path / "work", tmp_path / "settings" / "@jupyterlab"
    work.mkdir()
    nbformat.write(notebook, work / NOTEBOOK.name)
    for name, values in SETTINGS.items():
        (settings / name).parent.mkdir(parents=True, exist_ok=True)
        (settings / name).write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(16))
    environment = {
        **os.environ, **{name: str(tmp_path / name) for name in HOMES}, "JUPYTER_TOKEN": lab.token,
        "JUPYTERLAB_SETTINGS_DIR": str(settings.parent),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH")])),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", f"--ServerApp.root_dir={work}",
    ]
    file = tmp_path / "log"
    with file.open("w") as log, subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:
        try:
            wait_until(lambda: lab.answers() or process.poll() is not None, SOON, "JupyterLab has not started")
            assert process.poll() is None, file.read_text() + INSTALL
            yield lab
        finally:
            process.terminate()


@pytest.fixture
def page():
    """A page of the browser: the system's Chromium, or the one that playwright has installed."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        pytest.fail(INSTALL)
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        except Error as error:
            pytest.fail(f"{error}\n{INSTALL}")
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(SOON)
        yield page
        browser.close()


def run_all(lab, page):
    """Run all cells as soon as there is a kernel, and wait for the last one."""
    wait_until(lambda: lab.kernels() == ["idle"], SOON, "no kernel")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt")
    ran = prompts.filter(has_text=re.compile(r"\[\d+\]"))
    wait_until(lambda: ran.count() == prompts.count(), LATE, "not all cells have run")


def cell(page, source):
    """The code cell of this text."""
    return page.locator(".jp-CodeCell").filter(has=page.locator(".jp-InputArea").get_by_text(source, exact=True))


@pytest.mark.browser
@pytest.mark.filterwarnings("default")  # those of libraries that drive the browser
def test_a_notebook_runs_draws_and_steps_through_backward(lab, page):
    page.goto(lab.page(NOTEBOOK.name))
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    run_all(lab, page)
    assert page.locator('[data-mime-type="application/vnd.jupyter.error"]').count() == 0
    assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count() == 0

    drawing = cell(page, "numgrad.viz.draw(z)").locator('[data-mime-type="image/svg+xml"] img')
    assert drawing.evaluate("image => image.complete && image.naturalWidth") > 200, "the picture cannot be read"
    assert drawing.bounding_box()["width"] > 200, "the picture cannot be seen"
    svg = urllib.parse.unquote(drawing.get_attribute("src"))
    nodes = sorted(re.findall(r'<g class="node[^>]*><title>([^<]*)', svg))
    assert nodes == ["AddBackward0", "MulBackward0", "MulBackward0", "PowBackward0", "x", "y", "z"]

    player = cell(page, "steps").locator(".jp-OutputArea")
    lit = player.locator(f'g.node:has(rect[fill="{LIT}"]) title')

    def wait_for_step(title, node):
        wait_until(lambda: lit.all_text_contents() == [node], SOON, f"{node} is not lit")
        assert player.locator("pre").inner_text().startswith(f"{title}\n")

    wait_for_step("Step 1 of 7: SumBackward0", "SumBackward0")
    player.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    wait_for_step("Step 2 of 7: AddBackward0 of z", "AddBackward0")
    page.keyboard.press("End")
    wait_for_step("Step 7 of 7: AccumulateGrad of x", "x")
    player.get_by_role("button", name="Back").click()
    wait_for_step("Step 6 of 7: PowBackward0", "PowBackward0")
