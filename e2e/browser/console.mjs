// What the browser scripts share: one browser for each script, and a page that
// fails its test for whatever goes wrong on it unseen.
import { after } from "node:test";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const base = process.env.CONSOLE;
export const letters = JSON.parse(process.env.LETTERS); // ids by order
export const out = fileURLToPath(new URL("../out/", import.meta.url));

// Long, since the machine may be busy with other tests; nothing waits for it
// that comes earlier.
export const deadline = 45_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
after(() => browser.close());

// withPage opens a page of its own and runs body with it. allow names the
// answers of 400 and more that the test provokes.
export async function withPage(options, body) {
  const { allow = [], cookies = {}, ...context } = options;
  const home = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB", reducedMotion: "reduce", ...context });
  try {
    home.setDefaultTimeout(deadline);
    const url = new URL(base).origin;
    await home.addCookies(Object.entries(cookies).map(([name, value]) => ({ name: `dlo_${name}`, value, url })));
    const problems = [];
    home.on("page", (page) => watch(page, problems, allow));
    await home.addInitScript(() => document.addEventListener("securitypolicyviolation",
      (event) => console.error(`CSP: ${event.violatedDirective} blocks ${event.blockedURI} ${event.sample}`)));
    await body(await home.newPage());
    assert.ok(problems.length === 0, `what went wrong unseen:\n${problems.join("\n")}`);
  } finally {
    await home.close();
  }
}

function watch(page, problems, allow) {
  const say = (what) => problems.push(`${page.url()}: ${what}`);
  page.on("pageerror", (error) => say(`error ${error.stack}`));
  page.on("dialog", (dialog) => { say(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on("console", (message) => {
    const provoked = allow.some((status) => message.text().includes(`status of ${status} `));
    if (["error", "warning"].includes(message.type()) && !provoked) say(`console: ${message.text()}`);
  });
  page.on("requestfailed", (request) => {
    // A page that is left ends its stream of events, and may not have its icon yet.
    const left = request.failure().errorText === "net::ERR_ABORTED" && /\/(events|favicon\.svg)$/.test(new URL(request.url()).pathname);
    if (!left) say(`${request.method()} ${request.url()}: ${request.failure().errorText}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400 && !allow.includes(response.status())) say(`${response.status()} of ${response.url()}`);
  });
}

// see waits until the element stands there with the text.
export async function see(root, testid, text) {
  const found = root.getByTestId(testid).filter({ hasText: text }).first();
  await found.waitFor();
  return found;
}

// misfits are the parts that are wider than their place: the page itself, what
// sticks out of a panel, a button that its row cannot hold.
export const misfits = (page) => page.evaluate(() => {
  const found = [];
  const wide = document.scrollingElement.scrollWidth;
  if (wide > innerWidth) found.push(`the page is ${wide} px wide in ${innerWidth} px`);
  const say = (e, room) => found.push(`${e.tagName.toLowerCase()}.${e.className} ends at ${Math.round(e.getBoundingClientRect().right)}, its place at ${Math.round(room)}: ${e.textContent.trim().slice(0, 40)}`);
  for (const e of document.querySelectorAll(".panel *, .btn")) {
    const box = e.getBoundingClientRect();
    if (!box.width || e.closest("svg, .vh") || e.parentElement.closest(".scroll, pre")) continue;
    if (e.matches(".btn")) {
      if (getComputedStyle(e.parentElement).display === "contents") continue;
      const row = e.parentElement.getBoundingClientRect().right - parseFloat(getComputedStyle(e.parentElement).paddingRight);
      if (box.right > row + 1) say(e, row);
    } else {
      const panel = e.closest(".panel").getBoundingClientRect().right;
      if (box.right > panel + 1) say(e, panel);
    }
  }
  return found.slice(0, 5);
});

// turned are the texts of the page itself that something beside them made run
// from right to left.
export const turned = (page) => page.evaluate(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const at = (node, i) => {
    const range = document.createRange();
    range.setStart(node, i);
    range.setEnd(node, i + 1);
    return range.getBoundingClientRect();
  };
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trimEnd();
    const first = text.search(/\S/);
    if (first < 0 || text.length - first < 2 || !/^[\x20-\x7e\n]+$/.test(text)) continue;
    const [a, b] = [at(node, first), at(node, text.length - 1)];
    if (a.width && b.width && a.top === b.top && a.left > b.left) found.push(text.trim().slice(0, 60));
  }
  return found.slice(0, 5);
});

// paydemo runs one command of the payment system.
export const paydemo = (...args) => promisify(execFile)(process.env.PAYDEMO, args);

// whileStopped holds the consumer back, so that what comes after it can be
// seen to arrive.
export async function whileStopped(body) {
  const pid = Number(process.env.CONSUMER_PID);
  process.kill(pid, "SIGSTOP");
  try {
    await body();
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

// mark is gone as soon as the page is loaded again.
export const mark = (page) => page.evaluate(() => { window.sameLoad = true; });
export const marked = (page) => page.evaluate(() => window.sameLoad === true);
