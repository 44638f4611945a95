// The script of the page. It adds four things to what works without it: relative times, lists that follow
// while one types, news without a reload that keep focus, open parts and typed text, and shortcuts.
"use strict";
(() => {
  const page = document.documentElement;
  const root = page.dataset.root;
  const html = window.trustedTypes
    ? trustedTypes.createPolicy("fairlead", { createHTML: (text) => text }) // of this server, which escapes
    : { createHTML: (text) => text };

  // Times: the server writes them exactly, and here they become relative.
  const units = [["day", 86400, 172800], ["hour", 3600, 3600], ["minute", 60, 60], ["second", 1, 0]];
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });
  const paper = matchMedia("print"); // on it nothing is relative
  const exactly = (time) => time.toISOString().slice(0, 16).replace("T", " ") + " UTC";
  function showTimes() {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
      const [unit, size] = units.find(([, , from]) => Math.abs(seconds) >= from);
      if (paper.matches) time.textContent = exactly(new Date(time.dateTime));
      else time.textContent = Math.abs(seconds) < 1 ? "now" : relative.format(Math.trunc(seconds / size), unit);
    }
  }

  paper.addEventListener("change", () => {
    document.querySelector(".printed").textContent = location.href + ", printed " + exactly(new Date());
    showTimes();
  });

  // News: the server says which version a page has, and the page fetches itself if it has another one.
  function readStates() {
    const states = new Map();
    for (const e of document.querySelectorAll("main [data-state]")) states.set(e.dataset.state, e.textContent.trim());
    return states;
  }
  let news = new Map(), told = 0; // what is not told yet, since nobody wants to hear more than once in 5 seconds
  function announce(before) {
    for (const [name, word] of readStates()) if (before.has(name) && before.get(name) !== word) news.set(name, word);
    setTimeout(tell, Math.max(0, told + 5000 - Date.now()));
  }
  function tell() {
    if (news.size === 0) return;
    document.getElementById("news").textContent = [...news].map(([name, word]) => name + " is " + word).join(", ");
    news = new Map();
    told = Date.now();
  }
  function show(text) {
    const fresh = new DOMParser().parseFromString(html.createHTML(text), "text/html");
    const main = fresh.querySelector("main");
    if (!main) return;
    if (fresh.documentElement.dataset.build !== page.dataset.build) {
      location.reload();
      return;
    }
    const before = readStates();
    const keep = { // what a person has opened or typed stays
      morphStyle: "outerHTML",
      ignoreActiveValue: true,
      callbacks: {
        beforeAttributeUpdated: (name, node) => !(name === "open" && node.nodeName === "DETAILS") && !(name === "value" && node === document.activeElement),
      },
    };
    Idiomorph.morph(document.querySelector("main"), main, keep);
    const links = fresh.querySelector("nav"), shown = document.querySelector("nav");
    if (links && shown) Idiomorph.morph(shown, links, keep);
    document.title = fresh.title;
    page.dataset.version = fresh.documentElement.dataset.version;
    page.dataset.page = fresh.documentElement.dataset.page;
    showTimes();
    announce(before);
  }
  async function load(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (answer.ok) show(await answer.text());
    return answer.ok;
  }

  let stream, wait = 1000, retry, seen = new Date(); // when the page was last known to be as the server has it
  document.querySelector("#stale button").addEventListener("click", () => location.reload());
  function showStale(until) {
    const strip = document.getElementById("stale");
    strip.hidden = !until;
    if (until) strip.firstElementChild.textContent = "As of " + seen.toISOString().slice(11, 19) + " UTC: the stream is lost, and tried again in " + Math.ceil(until / 1000) + " s.";
  }
  function listen() {
    clearTimeout(retry);
    if (stream || document.hidden || !page.dataset.page) return;
    stream = new EventSource(root + "events?page=" + encodeURIComponent(page.dataset.page));
    stream.addEventListener("version", (event) => {
      wait = 1000;
      page.dataset.live = "on";
      seen = new Date();
      showStale(0);
      if (event.data !== page.dataset.version) load(location.href).catch(lose);
    });
    stream.onerror = lose;
  }
  function lose() {
    unlisten();
    page.dataset.live = "lost";
    const pause = wait * (0.5 + Math.random());
    showStale(pause);
    retry = setTimeout(listen, pause);
    wait = Math.min(2 * wait, 60000);
  }
  function unlisten() {
    if (stream) stream.close();
    stream = undefined;
    page.dataset.live = "off";
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? unlisten() : listen()));
  addEventListener("pagehide", unlisten);
  addEventListener("pageshow", listen);

  // Filters answer while one types; the address follows, and is all there is of state.
  let typing;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.filter");
    if (!form) return;
    clearTimeout(typing);
    typing = setTimeout(async () => {
      const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
      const address = form.getAttribute("action") + (asked.size > 0 ? "?" + asked : "");
      history.replaceState(null, "", address);
      if (await load(location.href)) {
        unlisten();
        listen();
      }
    }, 200);
  });

  // The timeline: a cursor that is dragged, or moved by keys, leads to the page as of its moment, or of a step near it.
  page.dataset.script = "on";
  function momentOf(slider) {
    const [from, to, now] = [slider.dataset.from, slider.dataset.to, slider.dataset.now].map(Date.parse);
    let at = from + ((to - from) * slider.value) / slider.max;
    for (const step of slider.dataset.steps.split(" ").map(Date.parse)) if (Math.abs(step - at) < (to - from) / 100) at = step;
    return { at, isNow: at > now - (to - from) / 200, share: (Math.min(at, now) - from) / (to - from) };
  }
  document.addEventListener("input", (event) => {
    if (event.target.id !== "scrub") return;
    const moment = momentOf(event.target), place = 100 * moment.share + "%", text = moment.isNow ? "now" : exactly(new Date(moment.at));
    for (const line of document.querySelectorAll("rect.cursor")) line.setAttribute("x", place);
    document.getElementById("moment").textContent = text;
    event.target.setAttribute("aria-valuetext", text);
  });
  document.addEventListener("change", async (event) => {
    if (event.target.id !== "scrub") return;
    const moment = momentOf(event.target);
    const address = root + (moment.isNow ? "" : "?at=" + new Date(moment.at).toISOString().slice(0, 19) + "Z");
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (answer.status !== 200) {
      location.href = address; // it says why, or that it takes a while
      return;
    }
    history.pushState(null, "", address);
    shown = location.search;
    show(await answer.text());
    unlisten();
    listen();
  });
  let shown = location.search;
  addEventListener("popstate", () => location.search !== shown && location.reload());

  // Shortcuts: ? lists them; a reader may have turned them off.
  const help = document.getElementById("keys");
  const rowsOfPage = "main tbody tr, main .list > li, main .needs > li";
  const find = (selector, inside = document) => [...inside.querySelectorAll(selector)].find((e) => e.checkVisibility());
  function moveRow(step) {
    const rows = [...document.querySelectorAll(rowsOfPage)].filter((row) => row.checkVisibility() && find("a[href], summary", row));
    if (rows.length === 0) return;
    const now = rows.indexOf(document.activeElement.closest(rowsOfPage));
    const row = rows[now < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(now + step, 0), rows.length - 1)];
    find("a[href], summary", row).focus();
    row.scrollIntoView({ block: "nearest" });
  }
  function explain() {
    const cell = document.activeElement.closest("td, tr, li"), link = 'a[href*="explain?"]';
    const named = cell && (cell.closest("[data-explain]") || cell.querySelector("[data-explain]"));
    if (named) {
      location.href = named.dataset.explain;
      return;
    }
    const to = (cell && cell.querySelector(link)) || document.querySelector("main " + link) || document.querySelector('nav a[href$="explain"]');
    if (to) to.click();
  }
  let going = false;
  const keys = {
    "/": () => find('form[role="search"] input').focus(),
    "?": () => help.showModal(),
    j: () => moveRow(1),
    k: () => moveRow(-1),
    e: explain,
    l: () => (find('main a[href*="levers/"], main form[action*="levers/"] button') || document.getElementById("main")).focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (!help || help.open || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const leads = going && help.querySelector('[data-key="' + CSS.escape(event.key) + '"]');
    going = event.key === "g";
    if (leads) {
      location.href = leads.href;
    } else if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  // The menu of more pages closes where one goes on elsewhere.
  document.addEventListener("click", (event) => {
    const open = document.querySelector("nav .more[open]");
    if (open && !open.contains(event.target)) open.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector("nav .more[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });

  // Paper has no parts to open.
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("main details:not([open])")) {
      part.open = true;
      addEventListener("afterprint", () => (part.open = false), { once: true });
    }
  });

  showTimes();
  setInterval(showTimes, 10000);
  listen();
})();
