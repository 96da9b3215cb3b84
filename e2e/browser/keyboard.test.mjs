// The same story with the keyboard alone: nothing here may use the mouse.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, letters, mark, marked, see, whileStopped, withPage } from "./console.mjs";

// tabTo walks with Tab until the element has the focus, and wants to see it.
async function tabTo(page, element) {
  for (let i = 0; i < 150; i++) {
    await page.keyboard.press("Tab");
    if (await element.evaluate((e) => e === document.activeElement)) {
      const { outlineStyle, outlineWidth, boxShadow } = await element.evaluate((e) => {
        const style = getComputedStyle(e);
        return { outlineStyle: style.outlineStyle, outlineWidth: style.outlineWidth, boxShadow: style.boxShadow };
      });
      assert.ok((outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none", `the focus on ${element} cannot be seen`);
      return;
    }
  }
  assert.fail(`Tab does not reach ${element}`);
}

const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);

test("find, read, release, replay, see the outcome", () => withPage({}, async (page) => {
  await page.goto(base);
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to content", "the first Tab leads past the bar");
  await tabTo(page, page.getByRole("link", { name: /^Messages/ }));
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/messages/);

  await page.keyboard.press("/");
  assert.equal(await focused(page), "q");
  await page.keyboard.type("P-STALE-KEYS");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=P-STALE-KEYS/);
  await see(page, "total", "1 dead letter matches");

  await page.keyboard.press("j");
  assert.match(await focused(page), /\S/);
  await page.keyboard.press("x");
  await see(page, "discard-selected", "Discard 1");
  await page.keyboard.press("x");
  await page.keyboard.press("Enter");
  await see(page, "name", "P-STALE-KEYS");
  await see(page, "verdict", "Stale key");

  await page.keyboard.press("R");
  await page.waitForURL(/\/release$/);
  await tabTo(page, page.getByTestId("reason"));
  await page.keyboard.type("consumer killed, by keyboard");
  await tabTo(page, page.getByTestId("confirm-button"));
  await whileStopped(async () => {
    await page.keyboard.press("Enter");
    await see(page, "replayed", "its outcome is awaited");
    await mark(page);
  });
  await see(page, "outcome", "processed");
  assert.ok(await marked(page), "the outcome came with a reload");

  await tabTo(page, page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Audit" }));
  await page.keyboard.press("Enter");
  await see(page, "entry", "consumer killed, by keyboard");
}));

test("through the list with j and k, replay with r", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages?state=open&q=P-BANK`);
  const ids = await page.getByTestId("message").evaluateAll((rows) => rows.map((row) => row.dataset.id));
  const here = () => page.evaluate(() => document.activeElement.closest("[data-id]")?.dataset.id);
  for (const key of ["j", "j", "k", "j"]) await page.keyboard.press(key);
  assert.equal(await here(), ids[1], "j, j, k, j stands on the second row");

  // On a message, j and k go to the next and the one before.
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/messages/${ids[1]}?**`);
  await page.keyboard.press("k");
  await page.waitForURL(`**/messages/${ids[0]}?**`);
  await page.keyboard.press("j");
  await page.waitForURL(`**/messages/${ids[1]}?**`);

  await page.goto(`${base}/messages/${letters["P-BANK-KEYS"]}`);
  await page.keyboard.press("r");
  await page.waitForURL(/\/replay$/);
  await tabTo(page, page.getByTestId("reason"));
  await page.keyboard.type("the bank is back: rjkx/?"); // letters stay letters while typing
  await tabTo(page, page.getByTestId("confirm-button"));
  await page.keyboard.press("Enter");
  await see(page, "outcome", "processed");
  await see(page, "item", "the bank is back: rjkx/?");
}));

test("menus and the list of keys open and close", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages/${letters["P-BANK-OPEN"]}`);
  await page.keyboard.press("?");
  await page.locator("#help").waitFor({ state: "visible" });
  await page.keyboard.press("Escape");
  await page.locator("#help").waitFor({ state: "hidden" });

  const more = page.getByTestId("acts").locator("summary");
  await tabTo(page, more);
  await page.keyboard.press("Enter");
  await page.getByTestId("menu-archive").waitFor();
  await page.keyboard.press("Escape");
  await page.getByTestId("menu-archive").waitFor({ state: "hidden" });
  assert.ok(await more.evaluate((e) => e === document.activeElement), "Escape gives the focus back");

  await page.keyboard.press("Enter");
  await tabTo(page, page.getByTestId("menu-archive"));
  await page.keyboard.press("Enter");
  await see(page, "confirm", "P-BANK-OPEN");
}));
