// What makes the pages quicker for a keyboard and calmer for the eye. Every
// page works without it; nothing here decides anything.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // A form that changes something is sent once, however often it is clicked.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-busy]")) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "1";
    setTimeout(() => form.classList.add("busy"), 300);
  });
  addEventListener("pageshow", () => all("[data-sent]").forEach((form) => {
    delete form.dataset.sent;
    form.classList.remove("busy");
  }));

  // Copying is offered only where the browser allows it.
  all("[data-copy], [data-copy-link]").forEach((button) => {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      const from = button.dataset.copy && $(button.dataset.copy);
      navigator.clipboard.writeText(from ? from.textContent : location.origin + location.pathname);
    });
  });

  // The act bar counts what is selected.
  const boxes = () => all('[data-rows] tbody [type="checkbox"]');
  const everything = $("[data-select-all]");
  const counted = all("[data-count]").map((button) => ({ button, label: $("span", button), plain: $("span", button).textContent }));
  function count() {
    const chosen = boxes().filter((box) => box.checked);
    boxes().forEach((box) => box.closest("tr").setAttribute("aria-selected", String(box.checked)));
    all("[data-selected]").forEach((place) => { place.textContent = chosen.length; });
    counted.forEach(({ button, label, plain }) => {
      label.textContent = chosen.length ? button.dataset.count.replace("{n}", chosen.length) : plain;
      button.disabled = chosen.length === 0;
    });
    if (everything) {
      everything.checked = chosen.length > 0 && chosen.length === boxes().length;
      everything.indeterminate = chosen.length > 0 && chosen.length < boxes().length;
    }
  }
  if (everything) {
    everything.hidden = false;
    everything.addEventListener("change", () => { boxes().forEach((box) => { box.checked = everything.checked; }); count(); });
  }
  if (boxes().length) {
    document.addEventListener("change", count);
    addEventListener("pageshow", count);
    count();
  }

  // A menu closes when the focus or the pointer goes elsewhere.
  document.addEventListener("click", (event) => all("details.menu[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  }));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    all("details.menu[open]").forEach((menu) => { menu.open = false; $("summary", menu).focus(); });
  });

  // Keyboard: / j k x Enter r R, off where the reader turned it off.
  let here = -1;
  function move(step) {
    const rows = all("[data-rows] tbody tr");
    if (!rows.length) {
      const link = $(step > 0 ? 'a[rel="next"]' : 'a[rel="prev"]');
      if (link) link.click();
      return;
    }
    here = Math.min(Math.max(here + step, 0), rows.length - 1);
    rows.forEach((row, i) => row.toggleAttribute("data-here", i === here));
    rows[here].scrollIntoView({ block: "nearest" });
    const link = $("[data-open]", rows[here]);
    if (link) link.focus({ preventScroll: true });
  }
  function toggle() {
    const rows = all("[data-rows] tbody tr");
    const box = here >= 0 && rows[here] && $('[type="checkbox"]', rows[here]);
    if (box) { box.checked = !box.checked; count(); }
  }
  const hotkeys = {
    "/": () => { const find = $("#q") || $("#k") || $("#object") || $("#find"); find.focus(); find.select(); },
    j: () => move(1),
    k: () => move(-1),
    x: toggle,
    r: () => { const act = $('[data-key="r"]'); if (act) act.click(); },
    R: () => { const act = $('[data-key="R"]'); if (act) act.click(); },
    "?": () => { const sheet = $("#help"); if (sheet && sheet.togglePopover) sheet.togglePopover(); },
  };
  if ("hotkeys" in document.body.dataset) {
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !hotkeys[event.key]) return;
      event.preventDefault();
      hotkeys[event.key]();
    });
  }

  // Updates can be paused; what came meanwhile is dropped, and the next one
  // after that brings the newest.
  const pause = $("[data-live]");
  let paused = false;
  if (pause && window.EventSource && window.htmx) {
    pause.hidden = false;
    const texts = [pause.textContent, pause.dataset.pausedText];
    pause.addEventListener("click", () => { paused = !paused; pause.textContent = texts[Number(paused)]; });
  }
  document.body.addEventListener("htmx:sseBeforeMessage", (event) => { if (paused) event.preventDefault(); });
})();
