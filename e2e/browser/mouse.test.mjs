// The story by mouse.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, letters, mark, marked, see, whileStopped, withPage } from "./console.mjs";

test("find, read, release, replay, see the outcome", () => withPage({}, async (page) => {
  await page.goto(base);
  await page.getByRole("link", { name: /^Messages/ }).click();

  // Find it by text, source and state.
  await page.getByLabel("Text in the body").fill("P-STALE-MOUSE");
  await page.getByLabel("Source", { exact: true }).selectOption("pay-success");
  await page.getByLabel("State", { exact: true }).selectOption("open");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.waitForURL(/q=P-STALE-MOUSE/);
  await see(page, "total", "1 dead letter matches");
  const row = await see(page, "message", "P-STALE-MOUSE");
  await row.getByRole("link").click();

  // Read what a replay will meet.
  await see(page, "name", "P-STALE-MOUSE");
  await see(page, "verdict", "Stale key");
  assert.equal(await page.getByTestId("guard").count(), 3);
  await see(page, "guards", "mq:consumed:pay_success:P-STALE-MOUSE");
  await page.getByTestId("primary-act").filter({ hasText: "Release key, then replay" }).click();

  // A second page of the same message follows by itself.
  const other = await page.context().newPage();
  await other.goto(`${base}/messages/${letters["P-STALE-MOUSE"]}`);
  await mark(other);

  await see(page, "confirm", "mq:consumed:pay_success:P-STALE-MOUSE");
  await page.getByTestId("reason").fill("consumer killed at the deploy; nothing was charged");
  await whileStopped(async () => {
    await page.getByTestId("confirm-button").click();
    await see(page, "replayed", "its outcome is awaited");
    await mark(page);
  });
  await see(page, "outcome", "processed");
  assert.ok(await marked(page), "the outcome came with a reload");
  await see(page, "outcome-source", "own report");
  await see(page, "released", "released");
  await see(other, "state", "resolved");
  await see(other, "outcome", "processed");
  await see(other, "changed", "It is resolved now");
  assert.ok(await marked(other), "the message's page was loaded again");
  await other.close();

  await page.getByRole("link", { name: "Replays" }).first().click();
  const replay = await see(page, "replay", "consumer killed at the deploy");
  await see(page, "replay", "processed");
  assert.match(await replay.innerText(), /processed/);
  await page.getByRole("link", { name: "Audit" }).click();
  await see(page, "entry", "consumer killed at the deploy");
  await see(page, "entry", "mq:consumed:pay_success:P-STALE-MOUSE");
}));

test("replay as it is, now that the bank is back", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages?q=P-BANK-MOUSE`);
  await page.getByTestId("message").getByRole("link").click();
  await see(page, "failure-type", "BANK_TIMEOUT");
  await see(page, "verdict", "Will run");
  await page.getByTestId("primary-act").filter({ hasText: "Replay" }).click();
  await page.getByTestId("reason").fill("the bank is back");
  await page.getByTestId("confirm-button").click();
  await see(page, "outcome", "processed");
}));

test("a refused one asks for consent before it goes", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages/${letters["P-REFUNDED"]}/replay`);
  await see(page, "verdict", "Refused");
  await page.getByTestId("reason").fill("to see the tick");
  await page.getByTestId("confirm-button").click();
  assert.equal(await page.getByTestId("override").evaluate((box) => box.validity.valueMissing), true);
  assert.match(page.url(), /\/replay$/, "it was sent without the tick");
  await page.getByRole("link", { name: "Back" }).last().click();
  await see(page, "state", "open");
}));

test("discard, restore, a note", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages/${letters["P-BANK-DROP"]}`);
  await page.getByTestId("acts").locator("summary").click();
  await page.getByTestId("menu-archive").click();
  await page.getByTestId("reason").fill("paid in another way");
  await page.getByTestId("confirm-button").click();
  await see(page, "state", "discarded");

  // Restored from the list, where it is found by its state.
  await page.goto(`${base}/messages?state=discarded`);
  await page.getByRole("checkbox", { name: "Select P-BANK-DROP" }).check();
  await see(page, "restore-selected", "Restore 1");
  await page.getByTestId("restore-selected").click();
  await page.getByTestId("reason").fill("it was not paid after all");
  await page.getByTestId("confirm-button").click();
  await page.waitForURL(`**/messages/${letters["P-BANK-DROP"]}`);
  await see(page, "state", "open");

  await page.getByTestId("note-text").fill("asked the customer");
  await page.getByTestId("add-note").click();
  await see(page, "notes", "asked the customer");
  await see(page, "message-audit", "paid in another way");
  await see(page, "message-audit", "it was not paid after all");
}));

test("a key by itself, released", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages/${letters.P20260928001}`);
  await page.getByTestId("guards").getByRole("link", { name: /mq:consumed/ }).click();
  await see(page, "key-state", "stuck");
  await see(page, "key-messages", "pay-success");
  await page.getByTestId("release").click();
  await see(page, "confirm", "mq:consumed:pay_success:P20260928001");
  await page.getByRole("link", { name: "Back" }).last().click();
  await see(page, "key-state", "stuck");
}));

test("theme, language, clock and shortcuts are the reader's", () => withPage({ colorScheme: "light" }, async (page) => {
  await page.goto(`${base}/messages?q=P-BANK`);
  const dark = () => page.evaluate(() => getComputedStyle(document.body).colorScheme + document.documentElement.dataset.theme);
  await page.locator(".theme summary").click();
  await page.getByTestId("theme-dark").last().click();
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  assert.match(await dark(), /dark/);
  assert.match(page.url(), /q=P-BANK$/, "the choice leads back to the page");
  await page.getByTestId("lang-zh-CN").last().click();
  await page.waitForFunction(() => document.documentElement.lang === "zh-CN");
  await page.getByTestId("lang-en").last().click();
  await page.waitForFunction(() => document.documentElement.lang === "en");
  await page.getByTestId("times-clock").last().click();
  await page.getByTestId("times-ago").last().waitFor({ state: "attached" });
  await page.locator(".who summary").click();
  await page.getByTestId("hotkeys-off").click();
  await page.locator(".who summary").click();
  await page.getByTestId("hotkeys-on").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  assert.notEqual(await page.evaluate(() => document.activeElement.id), "q", "/ works although shortcuts are off");
}));
