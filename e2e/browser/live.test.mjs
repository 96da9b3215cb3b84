// What comes while a page is open.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, mark, marked, paydemo, see, withPage } from "./console.mjs";

const number = async (element) => Number((await element.innerText()).replace(/\D/g, ""));

test("a new dead letter changes the depth and moves no row", () => withPage({}, async (overview) => {
  const list = await overview.context().newPage();
  await overview.goto(base);
  await list.goto(`${base}/messages?state=open`);
  await Promise.all([mark(overview), mark(list)]);
  const places = () => list.getByTestId("message").evaluateAll((rows) => rows.map((row) => `${row.dataset.id} ${row.getBoundingClientRect().top}`));
  const before = await places();
  const open = await number(overview.getByTestId("depth"));
  assert.ok(open >= before.length);

  await paydemo("produce", "-count", "1", "-order", "P-LIVE", "-amount", "12.00", "-user", "10086", "-refunded");
  await see(overview, "depth", String(open + 1));
  await see(overview, "figure-open", String(open + 1));
  await see(list, "depth", String(open + 1));
  await see(list, "new", "1 new");
  assert.deepEqual(await places(), before, "rows moved");
  assert.ok(await marked(overview) && await marked(list), "a page was loaded again");

  await list.getByTestId("new-pill").click();
  await see(list, "message", "P-LIVE");
  assert.match(await list.getByTestId("message").first().innerText(), /P-LIVE/);
  await list.getByTestId("new-pill").waitFor({ state: "detached" });
}));

test("updates can be paused", () => withPage({}, async (page) => {
  await page.goto(`${base}/messages`);
  const open = await number(page.getByTestId("depth"));
  await page.getByRole("button", { name: "Pause updates" }).click();
  await paydemo("produce", "-count", "1", "-order", "P-PAUSED", "-amount", "12.00", "-user", "10086", "-refunded");
  const other = await page.context().newPage();
  await other.goto(`${base}/messages`);
  await see(other, "depth", String(open + 1));
  assert.equal(await number(page.getByTestId("depth")), open, "it was updated all the same");
  await page.getByRole("button", { name: "Resume updates" }).click();
}));
