"""The page in a real browser: Chromium of the system's packages, driven by Playwright.

These run wherever Chromium is, also in ``make check``, and are skipped by name where it is not.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from privet.ledger import Ledger
from tests.service.answer_storm import ward
from tests.service.running import RunningService, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: make browser installs it"),
    pytest.mark.filterwarnings("ignore"),
]
LIMIT = 3
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        except Error as error:  # a machine that has it and cannot run it
            pytest.skip(f"Chromium does not start here: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("page")
    table = ward(folder, Ledger(f"sqlite:///{folder / 'budget.db'}"), LIMIT)
    options = ("--answers", "ward", "--data", table, "--ledger", folder / "budget.db")
    with running(folder, *options, "--step", "0.05") as service:
        yield service


def opened(browser: Any, service: RunningService, faults: list[str]) -> Any:
    """The page on a phone, with the token in its address as the terminal prints it."""
    page = browser.new_page(viewport=PHONE)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: _outside(request.url, service, faults))
    page.goto(f"{service.url}/#token={service.token}")
    wait_for_left(page, "left")
    return page


def wait_for_left(page: Any, words: str) -> None:
    """Until the page says what is left; a script of ours would be stopped by the page's policy."""
    from playwright.sync_api import expect

    expect(page.locator("#left")).to_have_text(re.compile(words), timeout=60_000)


def _outside(url: str, service: RunningService, faults: list[str]) -> None:
    if not url.startswith(service.url):
        faults.append(f"asks for {url}")


def test_ask_until_the_limit_and_see_the_refusal(
    browser: Any, asked: RunningService, tmp_path: Path
) -> None:
    faults: list[str] = []
    page = opened(browser, asked, faults)
    assert service_token_is_gone(page, asked)
    assert "epsilon" in page.inner_text(".guarantee") or "rho" in page.inner_text(".guarantee")
    assert page.locator("figure svg").count() == 2
    left = []
    for i in range(LIMIT):
        page.fill("[data-column=age]", str(10 + i))
        page.get_by_role("button", name="Predict").click()
        wait_for_left(page, f"^{i + 1} of")
        assert page.get_attribute("#answer", "data-state") == "answered"
        assert page.inner_text("#answer b") in ("yes", "no")
        assert "Noise alone moves it" in page.inner_text("#answer")
        left.append(page.inner_text("#left"))
        assert page.locator("#gauges meter").first.evaluate("m => m.value") == LIMIT - 1 - i
    assert len(set(left)) == LIMIT
    page.fill("[data-column=age]", "77")
    page.get_by_role("button", name="Predict").click()
    page.wait_for_selector("#answer[data-state=refused]")
    assert "0 are left" in page.inner_text("#answer")
    page.click("#ledger-box summary")
    page.click("#ledger")
    page.wait_for_selector("#line ol")
    assert page.locator("#line li").count() == 3  # opened, one charge, what is left
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"]  # nothing sticks out on a phone
    page.screenshot(path=str(tmp_path / "phone.png"), full_page=True)
    assert (tmp_path / "phone.png").stat().st_size > 20_000
    page.pdf(path=str(tmp_path / "page.pdf"))
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert page.get_attribute("#statement", "open") is not None  # whole on paper
    page.emulate_media(media="print")
    assert page.is_visible("[data-column=age]")  # with what was asked
    assert not page.is_visible("#print")
    assert faults == []
    page.close()


def service_token_is_gone(page: Any, service: RunningService) -> bool:
    """From the address, where a screenshot or the history would keep it."""
    return service.token not in page.url


def test_the_keyboard_is_enough(browser: Any, asked: RunningService) -> None:
    faults: list[str] = []
    page = opened(browser, asked, faults)
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
        if "submit" in seen[-1]:
            break
    assert "skip" in seen[0]
    assert any("data-column" in text or "<select" in text for text in seen)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer[data-state]")
    assert page.evaluate("document.activeElement.type") == "submit"  # where the reader was
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select')].filter(f => !f.labels.length).length"
    )
    assert unnamed == 0
    assert faults == []
    page.close()


def test_a_word_for_a_number_is_marked_and_not_asked(browser: Any, asked: RunningService) -> None:
    page = opened(browser, asked, [])
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    field = page.locator("input[data-number]").first
    field.fill("abc")
    page.get_by_role("button", name="Predict").click()
    page.wait_for_selector("#answer[data-state=refused]")
    assert "must be a number" in page.inner_text("#answer")
    assert field.get_attribute("aria-invalid") == "true"
    assert field.evaluate("field => field === document.activeElement")
    assert "POST" not in sent
    page.close()


def test_a_wrong_token_is_told(browser: Any, asked: RunningService) -> None:
    page = browser.new_page(viewport=PHONE)
    page.goto(f"{asked.url}/#token=wrong")
    page.get_by_role("button", name="Predict").click()
    page.wait_for_selector("#answer[data-state=refused]")
    assert "token" in page.inner_text("#answer")
    page.close()


def test_an_address_with_half_a_token_leaves_the_page_whole(
    browser: Any, asked: RunningService
) -> None:
    faults: list[str] = []
    page = browser.new_page(viewport=PHONE)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{asked.url}/#token=%")
    page.get_by_role("button", name="Predict").click()
    page.wait_for_selector("#answer[data-state=refused]")
    assert page.url == f"{asked.url}/"
    assert faults == []
    page.close()


ELSEWHERE = """<!doctype html><script>
const body = '{"rows": [{"age": 1, "dose": 1, "sex": "f"}]}';
fetch("URL/predict", {method: "POST", mode: "no-cors", body}).then(
  () => { document.title = "asked"; });
</script>"""


@contextmanager
def another_site(text: str) -> Iterator[str]:
    """A page of somebody else's; its address."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://localhost:{site.server_port}/"
        site.shutdown()


def test_a_page_of_another_site_uses_nothing_up(browser: Any, tmp_path: Path) -> None:
    """Without tokens a browser would ask for any page that its reader opens."""
    table = ward(tmp_path, Ledger(f"sqlite:///{tmp_path / 'budget.db'}"), LIMIT)
    options = ("--answers", "ward", "--data", table, "--ledger", tmp_path / "budget.db", "--open")
    with running(tmp_path, *options, "--step", "0.05") as service:
        page = browser.new_page(viewport=PHONE)
        with another_site(ELSEWHERE.replace("URL", service.url)) as url:
            page.goto(url)
            page.wait_for_function("document.title === 'asked'")
        assert service.ask("GET", "/budget", token=None).json["answered"] == 0
        page.goto(service.url)
        page.get_by_role("button", name="Predict").click()
        wait_for_left(page, "^1 of")
        page.close()
