// A console under a path of its own.
import { test } from "node:test";
import assert from "node:assert/strict";
import { letters, see, withPage } from "./console.mjs";

const base = process.env.CONSOLE_BASED;
const path = new URL(base).pathname;

test("every address is under the path", () => withPage({}, async (page) => {
  const outside = () => page.evaluate((under) => [...document.querySelectorAll("[href], [src], [action], [formaction], [sse-connect]")]
    .flatMap((e) => ["href", "src", "action", "formaction", "sse-connect"].map((name) => e.getAttribute(name)))
    .filter((address) => address?.startsWith("/") && !address.startsWith(`${under}/`)), path);
  await page.goto(base); // without a slash it leads to the overview
  await see(page, "depth", /\d/);
  for (const name of [/^Messages/, "Replays", "Keys", "Sources", "Audit", "Overview"]) {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click();
    await page.locator("a[aria-current=page]").filter({ hasText: name }).waitFor();
    assert.deepEqual(await outside(), [], page.url());
    assert.ok(await page.evaluate(() => document.styleSheets.length >= 2), `${page.url()} has its styles`);
  }
  await page.locator(".theme summary").click();
  await page.getByTestId("theme-dark").last().click();
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await page.goto(`${base}/messages/${letters["P-BANK-BASE"]}`);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "the choice holds on other pages");
  assert.deepEqual(await outside(), []);
  await page.getByTestId("primary-act").click();
  await page.getByTestId("reason").fill("by the other console");
  await page.getByTestId("confirm-button").click();
  await page.waitForURL(`${base}/replays/*`);
  await see(page, "outcome", "processed");
}));

test("nothing is beside it", () => withPage({ allow: [404] }, async (page) => {
  const answer = await page.goto(new URL("/messages", base).href);
  assert.equal(answer.status(), 404);
}));
