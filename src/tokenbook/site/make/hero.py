"""Draw the picture of the README: the figure of the start page, light and dark.

python -m tokenbook.site.make.hero   into .github/hero-light.png, hero-dark.png
"""

from tokenbook import ROOT
from tokenbook.site.make import measure

LANGUAGE = "en"
SITE = ROOT / "_build" / "site" / LANGUAGE / "book" / "index.html"
OUT = ROOT / ".github"


def main() -> None:
    if not SITE.exists():
        raise SystemExit(f"hero: there is no {SITE}; run: make site")
    with measure.chromium() as browser:
        for look in ("light", "dark"):
            page = browser.new_page(**measure.LOOKS[look], device_scale_factor=2)
            page.goto(SITE.as_uri())
            page.locator(".explorer").first.screenshot(path=OUT / f"hero-{look}.png")


if __name__ == "__main__":
    main()
