"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const questions = all("article.question");
  const tasks = all("details.task");
  const count = (number, noun) => number + " " + noun + (number === 1 ? "" : "s");

  // What works only with a script is hidden until here.
  all(".find, .tools, .filters").forEach((part) => { part.hidden = false; });

  // Following a link opens what it leads into.
  const reveal = (target) => {
    for (let at = target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
      if (at.hidden && at.matches("article.question, details.task")) at.hidden = false;
    }
    if (target.matches("article.question")) one("details", target).open = true;
  };
  const go = (id) => {
    const target = document.getElementById(id);
    if (!target) return;
    reveal(target);
    target.scrollIntoView({ block: "start" });
    // What was laid out on the way may have moved it.
    requestAnimationFrame(() => target.scrollIntoView({ block: "start" }));
  };
  const follow = () => { if (location.hash.length > 1) go(decodeURIComponent(location.hash.slice(1))); };
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) follow();
  });

  // Filters
  const taskFilters = one("#task-filters");
  if (taskFilters) {
    const filter = () => {
      const wanted = Object.fromEntries(new FormData(taskFilters));
      let shown = 0;
      for (const task of tasks) {
        const data = task.dataset;
        const fits = ["priority", "kind", "status", "category"].every((name) => !wanted[name] || data[name] === wanted[name])
          && (!wanted.file || data.files.toLowerCase().includes(wanted.file.toLowerCase()));
        task.hidden = !fits;
        shown += fits;
      }
      one("#task-count").textContent = shown === tasks.length ? count(shown, "record") : shown + " of " + count(tasks.length, "record");
    };
    taskFilters.addEventListener("input", filter);
    taskFilters.addEventListener("reset", () => setTimeout(filter));
    taskFilters.addEventListener("submit", (event) => event.preventDefault());
  }
  const answerFilters = one("#answer-filters");
  const openAll = one("#open-all");
  const setAll = (open) => {
    questions.forEach((question) => { if (!question.hidden) one("details", question).open = open; });
    if (openAll) {
      openAll.setAttribute("aria-expanded", String(open));
      openAll.textContent = open ? "Close all" : "Open all";
    }
  };
  const toggleAll = () => setAll(!openAll || openAll.getAttribute("aria-expanded") !== "true");
  if (answerFilters) {
    answerFilters.addEventListener("input", (event) => {
      const show = event.target.value;
      let shown = 0;
      for (const question of questions) {
        question.hidden = Boolean(show) && !question.dataset[show];
        shown += !question.hidden;
      }
      one("#answer-count").textContent = shown === questions.length ? count(shown, "question") : shown + " of " + count(questions.length, "question");
    });
    openAll.addEventListener("click", toggleAll);
  }

  const packFilter = one("#pack-filter");
  if (packFilter) packFilter.addEventListener("input", () => {
    const word = packFilter.value.trim().toLowerCase();
    all("section.pack").forEach((pack) => { pack.hidden = !pack.dataset.name.toLowerCase().includes(word); });
  });

  // Search over all answers
  const field = one("#search");
  const box = one("#hits");
  const MOST = 60;
  let texts = null;
  let hits = [];
  let at = -1;
  const index = () => {
    texts = texts || all(".answer").map((answer) => {
      const plain = answer.textContent;
      return { answer, plain, lower: plain.toLowerCase(), step: answer.dataset.step };
    });
    return texts;
  };
  const mark = (word) => {
    if (!globalThis.CSS || !CSS.highlights) return;
    CSS.highlights.delete("search");
    if (!word) return;
    const ranges = [];
    for (const answer of new Set(hits.map((hit) => hit.answer))) {
      const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const lower = node.data.toLowerCase();
        for (let from = lower.indexOf(word); from >= 0 && from + word.length <= node.length; from = lower.indexOf(word, from + word.length)) {
          const range = new Range();
          range.setStart(node, from);
          range.setEnd(node, from + word.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("search", new Highlight(...ranges));
  };
  const place = (hit) => {
    // The block in which the hit stands: the last one with an id that begins before it.
    const walker = document.createTreeWalker(hit.answer, NodeFilter.SHOW_TEXT);
    let passed = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      passed += node.length;
      if (passed > hit.from) return node.parentElement.closest("[id]") || hit.answer;
    }
    return hit.answer;
  };
  const jump = (number) => {
    if (!hits.length) return;
    at = (number + hits.length) % hits.length;
    const target = place(hits[at]);
    reveal(target);
    target.scrollIntoView({ block: "center" });
    all("a", box).forEach((link, position) => link.toggleAttribute("aria-current", position === at));
  };
  const search = () => {
    const word = field.value.trim().toLowerCase();
    hits = [];
    at = -1;
    box.textContent = "";
    box.hidden = word.length < 2;
    if (box.hidden) { mark(""); return; }
    let total = 0;
    const inAnswers = new Set();
    for (const text of index()) {
      for (let from = text.lower.indexOf(word); from >= 0; from = text.lower.indexOf(word, from + word.length)) {
        total += 1;
        inAnswers.add(text.answer);
        if (hits.length < MOST) hits.push({ ...text, from });
      }
    }
    const said = document.createElement("p");
    said.setAttribute("role", "status");
    said.textContent = total ? count(total, "hit") + " in " + count(inAnswers.size, "answer") + (total > MOST ? ", the first " + MOST : "") : "Nothing found";
    box.append(said);
    hits.forEach((hit, number) => {
      const link = document.createElement("a");
      link.href = "#" + place(hit).id;
      const step = document.createElement("span");
      step.className = "num";
      step.textContent = hit.step;
      const text = document.createElement("span");
      const found = document.createElement("mark");
      found.textContent = hit.plain.slice(hit.from, hit.from + word.length);
      text.append(
        hit.plain.slice(Math.max(0, hit.from - 50), hit.from).replace(/\s+/g, " "), found,
        hit.plain.slice(hit.from + word.length, hit.from + word.length + 60).replace(/\s+/g, " "));
      link.append(step, text);
      link.addEventListener("click", (event) => { event.preventDefault(); jump(number); box.hidden = true; });
      box.append(link);
    });
    mark(word);
  };
  if (field) {
    let later = 0;
    field.addEventListener("input", () => { clearTimeout(later); later = setTimeout(search, 60); });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); clearTimeout(later); if (!hits.length) search(); jump(at + (event.shiftKey ? -1 : 1)); }
      if (event.key === "ArrowDown" && one("a", box)) { event.preventDefault(); one("a", box).focus(); }
      if (event.key === "Escape") { field.value = ""; search(); field.blur(); }
    });
    box.addEventListener("keydown", (event) => {
      const links = all("a", box);
      const here = links.indexOf(document.activeElement);
      if (event.key === "ArrowDown" && links[here + 1]) { event.preventDefault(); links[here + 1].focus(); }
      if (event.key === "ArrowUp") { event.preventDefault(); (links[here - 1] || field).focus(); }
      if (event.key === "Escape") { box.hidden = true; field.focus(); }
    });
    document.addEventListener("click", (event) => { if (!event.target.closest(".find")) box.hidden = true; });
    field.addEventListener("focus", () => { if (hits.length) box.hidden = false; });
  }

  // Keyboard
  const help = one("#help");
  const showHelp = () => { if (help && !help.open) help.showModal(); };
  if (one("#keys")) one("#keys").addEventListener("click", showHelp);
  const step = (by) => {
    const seen = questions.filter((question) => !question.hidden);
    if (!seen.length) return;
    const here = seen.findIndex((question) => question.contains(document.activeElement));
    const next = here < 0 ? (by > 0 ? 0 : seen.length - 1) : Math.min(seen.length - 1, Math.max(0, here + by));
    one("summary", seen[next]).focus({ preventScroll: true });
    seen[next].scrollIntoView({ block: "start" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (help && help.open)) return;
    if (event.target.closest("input, select, textarea")) return;
    const current = document.activeElement.closest && document.activeElement.closest("article.question");
    const actions = {
      "/": () => field && field.focus(),
      "?": showHelp,
      n: () => jump(at + 1),
      p: () => jump(at - 1),
      j: () => step(1),
      k: () => step(-1),
      e: toggleAll,
      o: () => { if (current) { const part = one("details", current); part.open = !part.open; } },
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });

  // Light and dark
  const theme = one("#theme");
  if (theme) theme.addEventListener("click", () => {
    const root = document.documentElement.style;
    const dark = root.colorScheme ? root.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.colorScheme = dark ? "light" : "dark";
  });

  // The drawing leads to the answers; the list at the side follows the reader.
  all(".timeline .call").forEach((call) => call.addEventListener("click", () => { location.hash = "q" + call.dataset.step; }));
  const links = new Map(all(".side .parts a").map((link) => [link.hash.slice(1), link]));
  if (globalThis.IntersectionObserver) {
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((link, id) => link.toggleAttribute("aria-current", id === entry.target.id));
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    links.forEach((_, id) => { const section = document.getElementById(id); if (section) observer.observe(section); });
  }

  // Everything is printed.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("article.question > details:not([open]), details.task:not([open]), .sources:not([open])");
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => { closed.forEach((part) => { part.open = false; }); });
  follow();
})();
