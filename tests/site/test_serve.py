"""The preview: it shows a folder on the loopback only, and a change of a file makes the site anew."""

import urllib.request
from pathlib import Path

from compat.site.serve import Preview, watch


def test_a_folder_is_shown_on_the_loopback(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("hello")
    with Preview(tmp_path) as preview:
        assert preview.url.startswith("http://127.0.0.1:")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        assert opener.open(preview.url).read() == b"hello"


def test_a_change_makes_the_site_anew_and_no_change_does_not(tmp_path: Path) -> None:
    file, made = tmp_path / "a" / "record.json", []
    file.parent.mkdir()
    steps = iter((lambda: None, lambda: file.write_text("new"), lambda: None, file.unlink))

    def wait() -> bool:
        step = next(steps, None)
        if step is not None:
            step()
        return step is not None

    watch([tmp_path], lambda: made.append("anew"), wait)
    assert made == ["anew", "anew"]
