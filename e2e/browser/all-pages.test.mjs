// A sign of life on every page: no error, nothing that the policy blocks,
// nothing that axe finds, nothing wider than the window.
import { test } from "node:test";
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdir } from "node:fs/promises";
import { base, letters, misfits, out, see, withPage } from "./console.mjs";

const { source: axe } = createRequire(import.meta.url)("axe-core");
const stale = letters.P20260928001;
const key = encodeURIComponent("mq:consumed:pay_success:P20260928001");
const pictures = Boolean(process.env.E2E_PICTURES);
await mkdir(out, { recursive: true });

// What the navigation leads to, and the step that matters most, in every theme, language and width …
const main = {
  overview: "/", messages: "/messages", message: `/messages/${stale}`, replays: "/replays", replay: "/replays/1",
  keys: "/keys", key: `/keys?key=${key}`, sources: "/sources", audit: "/audit", missing: "/nowhere",
  "confirm-release": `/messages/${stale}/release`,
};
// … and the steps beside it, once wide and once on a phone.
const more = {
  "messages-none": "/messages?q=nothing-like-it", "messages-bad": "/messages?retries_min=x", "messages-narrow": "/messages?state=open&source=pay-success&q=P-BANK",
  "message-back": `/messages/${letters["P-REFUNDED"]}`, "message-done": `/messages/${letters["P-BANK-DONE"]}`, "message-hostile": `/messages/${letters.hostile}`,
  "message-raw": `/messages/${stale}?view=raw`, "message-hex": `/messages/${stale}?view=hex`, "message-gone": "/messages/00000000-0000-7000-8000-000000000000",
  "confirm-stop": `/messages/${stale}/replay`, "confirm-override": `/messages/${letters["P-REFUNDED"]}/replay`,
  "confirm-discard": `/messages/discard?id=${stale}&id=${letters["P-BANK-DONE"]}`, "confirm-pause": "/sources/pay-success/pause", "key-release": `/keys/release?key=${key}`,
  "key-none": "/keys?key=nobody%3As", "replay-back": "/replays/2", "audit-about": `/audit?object=${encodeURIComponent(`message ${stale}`)}`, "audit-none": "/audit?object=message+none",
};
const provoked = { missing: 404, "message-gone": 404, "messages-bad": 400, "key-none": 404 };

const nothing = (found) => assert.ok(found.length === 0, `\n${found.join("\n")}`);

async function check(page, name, variant) {
  await page.evaluate(axe); // past the policy, which is the browser's and not the tester's
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.map((v) => `${v.id} (${v.impact}): ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).slice(0, 3).join(" | ")}`);
  found.push(...await misfits(page));
  if (pictures) await page.screenshot({ path: `${out}${name}-${variant}.png`, fullPage: true });
  return found.map((f) => `${name}: ${f}`);
}

// One reader has chosen theme and language, the other has them from the
// system; the chosen theme is always the system's opposite.
const readers = {
  "light-en": { cookies: { theme: "light", lang: "en" }, colorScheme: "dark", locale: "zh-CN" },
  "dark-en": { colorScheme: "dark", locale: "en-GB" },
  "light-zh": { colorScheme: "light", locale: "zh-CN" },
  "dark-zh": { cookies: { theme: "dark", lang: "zh-CN" }, colorScheme: "light", locale: "en-GB" },
};

async function walk(page, pages, variant, reader) {
  const found = [];
  for (const [name, path] of Object.entries(pages)) {
    const answer = await page.goto(base + path);
    await page.locator("main").waitFor();
    if (answer.status() !== (provoked[name] ?? 200)) found.push(`${name}: status ${answer.status()}`);
    if (await page.evaluate(() => document.documentElement.lang) !== (reader.endsWith("zh") ? "zh-CN" : "en")) found.push(`${name}: in another language`);
    found.push(...await check(page, name, variant));
  }
  return found;
}

for (const width of [1440, 360]) {
  for (const [reader, options] of Object.entries(readers)) {
    const all = reader === (width > 400 ? "light-en" : "dark-zh");
    test(`every page, ${reader}, ${width} px`, () => withPage(
      { ...options, viewport: { width, height: width > 400 ? 900 : 740 }, allow: [400, 404] },
      async (page) => nothing(await walk(page, all ? { ...main, ...more } : main, `${reader}-${width}`, reader)),
    ));
  }
}

test("what opens on a page is without violations too", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages/${stale}`);
  const found = [];
  for (const menu of [".theme", ".who", "[data-testid=acts] .menu"]) {
    await page.locator(`${menu} summary`).click();
    found.push(...await check(page, `menu ${menu}`, "open"));
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("?");
  await page.locator("#help").waitFor({ state: "visible" });
  found.push(...await check(page, "help", "open"));
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${base}/messages`);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.locator("#nav").waitFor({ state: "visible" });
  found.push(...await check(page, "nav", "open"));
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Narrow the list" }).click();
  await page.locator("#facets").waitFor({ state: "visible" });
  found.push(...await check(page, "facets", "open"));
  nothing(found);
}));

test("the README's picture", () => withPage({ colorScheme: "light" }, async (page) => {
  await page.goto(`${base}/messages/${stale}`);
  await see(page, "verdict", "Stale key");
  await see(page, "depth", /\d/);
  await page.screenshot({ path: `${out}message.png` });
}));
