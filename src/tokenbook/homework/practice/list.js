// The page of all exercises: filters, progress, the next one, a clock.
(() => {
  const list = document.querySelector(".practice-list");
  if (!list) return;
  const all = (what) => [...list.querySelectorAll(what)];
  const form = list.querySelector("form"), next = form.querySelector(".practice-next");
  const none = form.querySelector(".practice-none"), { passes, say } = window.practised;
  const items = all("li[data-exercise]"), last = (item) => item.querySelector("small");
  const lengths = items.map((item) => last(item).textContent), listed = all("section[data-chapter] li");
  const look = () => {
    items.forEach((item, i) => {
      const done = passes(item.dataset.exercise, item.dataset.on);
      item.classList.toggle("done", done);
      last(item).textContent = done ? say("done") : lengths[i];
      last(item).title = done ? say("ticked") : "";
    });
    for (const item of listed) {
      const asked = ["chapter", "kind", "level"].every((name) =>
        !form[name].value || form[name].value === item.dataset[name]);
      item.hidden = !asked || (form.todo.checked && item.matches(".done"));
    }
    for (const section of all("section[data-chapter]")) section.hidden = !section.querySelector("li:not([hidden])");
    const first = listed.find((item) => !item.hidden && !item.matches(".done"));
    next.hidden = !first;
    none.hidden = Boolean(first);
    if (first) next.href = first.querySelector("a").href;
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", (String(query) ? `?${query}` : location.pathname) + location.hash);
  };
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (name === "todo") form.todo.checked = true;
    else if (form[name]) form[name].value = value;
  }
  form.addEventListener("input", look);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("practice", look);
  look();

  const button = list.querySelector(".practice-clock"), output = list.querySelector("output");
  const begin = button.textContent, KEY = "practice clock"; // it goes on while a chapter is open
  const show = () => {
    const since = +localStorage.getItem(KEY), seconds = Math.floor((Date.now() - since) / 1000);
    button.textContent = since ? button.dataset.stop : begin;
    if (since) output.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  };
  button.addEventListener("click", () => {
    if (localStorage.getItem(KEY)) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, Date.now());
    show();
  });
  setInterval(show, 1000);
  show();
  window.practised.listed = true;
})();
