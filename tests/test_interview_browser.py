"""The sessions of the interview bank: ten questions, a mock interview with a clock."""

import pytest
from test_site_build import load

measure = load("measure")
pytestmark = pytest.mark.browser
SAID = ".bank [role=status]"


def opened(folder, page, lang="en"):
    page.goto((folder / lang / "book/interview.html").as_uri())
    return page.locator("details.qa:visible")


def answer(page, shown, knew: bool) -> str:
    """Unfold the question that is asked, say whether it was known; by keyboard."""
    assert shown.count() == 1 and shown.get_attribute("open") is None
    key = shown.get_attribute("data-key")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    shown.locator(".bank-yes" if knew else ".bank-no").focus()
    page.keyboard.press("Enter")
    return key


def test_ten_questions_begin_with_what_was_not_known(folder, page):
    shown = opened(folder, page)
    page.click("#bank-ten")
    assert page.inner_text(SAID) == "Question 1 of 10"
    asked = [answer(page, shown, n not in (3, 7)) for n in range(10)]
    assert len({*asked}) == 10
    assert page.inner_text(SAID) == "You knew 8 of 10."
    assert page.locator(".bank-session li a").count() == 2
    page.click(".bank-back")
    assert "knew 8 of" in page.inner_text(SAID) and shown.count() > 100
    shown = opened(folder, page, "zh")
    page.click("#bank-ten")
    again = [answer(page, shown, knew=True) for _ in range(2)]
    assert again == [asked[3], asked[7]]
    assert shown.get_attribute("data-key") not in asked


def test_a_session_that_was_left_is_offered_again(folder, page):
    shown = opened(folder, page)
    page.locator(".bank label:has(input[value=L2])").click()
    page.click("#bank-ten")
    done = answer(page, shown, knew=True)
    now = shown.get_attribute("data-key")
    page.reload()  # the address keeps the level
    every = page.locator("details.qa[data-level=L2]").count()
    assert shown.count() == every > 20
    page.click(".bank-more")
    assert shown.get_attribute("data-key") == now != done
    assert shown.get_attribute("data-level") == "L2"
    page.click(".bank-end")
    assert page.inner_text(SAID) == "You knew 1 of 1."
    page.reload()
    assert page.locator(".bank-more").count() == 0


def test_a_mock_interview_keeps_to_the_choice_and_its_clock_waits(folder, page):
    page.clock.install()
    shown = opened(folder, page)
    page.click("#bank-mock")
    assert "thirty minutes" in page.inner_text(SAID) and shown.count() == 0
    page.clock.run_for(3600_000)
    page.click(".bank-go")
    assert page.inner_text("[role=timer]") in ("30:00", "29:59")
    levels = []
    for _ in range(4):
        levels.append(shown.get_attribute("data-level"))
        answer(page, shown, knew=True)
    assert levels == ["L1", "L1", "L2", "L2"]
    page.clock.run_for(600_000)
    assert page.inner_text("[role=timer]").startswith(("20:0", "19:5"))
    page.clock.run_for(1200_000)
    assert page.inner_text(SAID) == "Time is up. You knew 4 of 4."
    page.click(".bank-back")
    page.select_option("#bank-chapter", "6")
    page.click("#bank-mock")
    page.click(".bank-go")
    assert shown.get_attribute("data-chapter") == "6"


def test_a_session_works_where_nothing_can_be_kept(folder, page):
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw Error(); } })"
    )
    shown = opened(folder, page)
    page.click("#bank-ten")
    first = answer(page, shown, knew=False)
    page.click(".bank-end")
    page.click(".bank-back")
    page.click("#bank-ten")
    assert shown.get_attribute("data-key") == first


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_session_has_no_axe_violation_and_fits_a_phone(folder, page, lang, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    shown = opened(folder, page, lang)
    page.evaluate(
        "scheme => { document.documentElement.dataset.theme = scheme; }", scheme
    )
    page.click("#bank-mock")
    page.click(".bank-go")
    shown.locator("summary").click()
    assert measure.axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    buttons = page.locator(".bank-session button, .bank-judge button").all()
    assert len(buttons) == 4
    assert all(one.bounding_box()["height"] >= 44 for one in buttons)
    shown.locator(".bank-no").click()
    page.click(".bank-end")
    assert page.locator(".bank-session li a").count() == 1
    assert measure.axe(page) == []
