// The book's only script of its own: small courtesies that pages live without.
const SCROLLING =
  "pre, .cell_output > .output, .math-scroll, .pst-scrollable-table-container";

addEventListener("DOMContentLoaded", () => {
  // The language switch keeps the place on the page and remembers the choice.
  for (const link of document.querySelectorAll("a.language-switch")) {
    link.addEventListener("click", () => {
      link.hash = location.hash;
      try { localStorage.setItem("language", link.dataset.language); } catch { /* off */ }
    });
  }
  // A link that is only a formula needs words for a screen reader: its TeX.
  for (const link of document.querySelectorAll("a[data-xp]:has(.katex)")) {
    const copy = link.cloneNode(true);
    for (const math of copy.querySelectorAll(".katex"))
      math.replaceWith(math.querySelector("annotation").textContent);
    link.setAttribute("aria-label", copy.textContent.trim());
  }
  // Only a box that really scrolls is a stop for the Tab key. Its size is read when the
  // browser lays it out: asking for it earlier would lay out the whole page at once.
  const watch = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const box = target.closest(SCROLLING);
      box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
    }
  });
  for (const box of document.querySelectorAll(SCROLLING)) {
    box.tabIndex = 0; // until it is laid out it may scroll
    const inside = box.querySelectorAll(":scope > *, .katex-display > .katex");
    for (const part of [box, ...inside]) watch.observe(part);
  }
});

// A page opened from disk may not fetch its neighbours for search excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
