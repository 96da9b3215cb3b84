// Without JavaScript: the same path, with reloads.
import { test } from "node:test";
import { base, deadline, see, withPage } from "./console.mjs";

// reloadUntil loads the page again until the element says so.
async function reloadUntil(page, testid, text) {
  const end = Date.now() + deadline;
  while (Date.now() < end) {
    if (await page.getByTestId(testid).filter({ hasText: text }).count()) return;
    await page.reload();
  }
  await see(page, testid, text);
}

async function send(page, reason) {
  await page.getByTestId("reason").fill(reason);
  await page.getByTestId("confirm-button").click();
  await page.waitForURL(/\/replays\/\d+$/);
  await reloadUntil(page, "outcome", "processed");
}

test("find, release, replay", () => withPage({ javaScriptEnabled: false }, async (page) => {
  await page.goto(base);
  await page.getByRole("link", { name: /^Messages/ }).click();
  await page.getByLabel("Text in the body").fill("P-STALE-PLAIN");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByTestId("message").getByRole("link").click();
  await see(page, "verdict", "Stale key");
  await page.getByTestId("primary-act").click();
  await send(page, "without a script");
  await page.getByTestId("item").getByRole("link").first().click();
  await see(page, "state", "resolved");
  await page.getByRole("link", { name: "Replays" }).first().click();
  await see(page, "replay", "without a script");
}));

test("replay, discard and restore of several", () => withPage({ javaScriptEnabled: false }, async (page) => {
  await page.goto(`${base}/messages?q=P-BANK-PLAIN`);
  await page.getByTestId("message").getByRole("link").click();
  await page.getByTestId("primary-act").click();
  await send(page, "the bank is back, without a script");

  await page.goto(`${base}/messages?state=open&q=P-BANK`);
  for (const order of ["P-BANK-DROP", "P-BANK-OPEN"]) await page.getByRole("checkbox", { name: `Select ${order}` }).check();
  await page.getByTestId("discard-selected").click();
  await page.getByTestId("reason").fill("two at a time");
  await page.getByTestId("confirm-button").click();
  await page.waitForURL(/state=discarded/);
  await page.goto(`${base}/messages?state=discarded`);
  for (const order of ["P-BANK-DROP", "P-BANK-OPEN"]) await page.getByRole("checkbox", { name: `Select ${order}` }).check();
  await page.getByTestId("restore-selected").click();
  await page.getByTestId("reason").fill("and back");
  await page.getByTestId("confirm-button").click();
  await page.waitForURL(/state=open/);
  await see(page, "message", "P-BANK-DROP");
  await see(page, "message", "P-BANK-OPEN");
}));

test("theme and language, and every menu", () => withPage({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } }, async (page) => {
  await page.goto(`${base}/messages`);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByTestId("theme-dark").first().click();
  await page.locator("html[data-theme=dark]").waitFor();
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByTestId("lang-zh-CN").first().click();
  await page.locator("html[lang=zh-CN]").waitFor();
}));
