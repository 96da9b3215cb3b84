// A message that is markup all over stays text on every page.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, letters, misfits, see, turned, withPage } from "./console.mjs";

const hostile = `"'><hostile-tag onmouseover=alert(1)></hostile-tag><script>alert(1)</script><img src=x onerror=alert(1)>`;
const id = letters.hostile;
const enc = encodeURIComponent;

// harm is what a message did to the page: markup of it that became an element,
// text of it that is not there, parts pushed out of their place, text of the
// page that it turned around.
async function harm(page, shown = "<hostile-tag") {
  const found = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) =>
    ["HOSTILE-TAG", "IMG"].includes(e.tagName) || (e.tagName === "SCRIPT" && !e.src) ||
    e.getAttributeNames().some((name) => name.startsWith("on") || /["'<]/.test(name))).map((e) => `became an element: ${e.outerHTML}`));
  if (shown && !(await page.locator("body").innerText()).includes(shown)) found.push("the message's own text is not there");
  found.push(...await misfits(page));
  found.push(...(await turned(page)).map((text) => `turned around: ${text}`));
  return found.map((what) => `${page.url()}: ${what}`);
}

// inert walks through the pages and wants no harm on any.
async function inert(page, paths, shown) {
  const found = [];
  for (const path of paths) {
    await page.goto(base + path);
    await page.locator("main").waitFor();
    found.push(...await harm(page, path === "/" || path.includes("view=hex") ? "" : shown));
  }
  assert.ok(found.length === 0, `\n${found.join("\n")}`);
}

const shows = [
  "/", "/messages", "/messages?state=open", `/messages/${id}`, `/messages/${id}?view=pretty`, `/messages/${id}?view=raw`, `/messages/${id}?view=hex`,
  `/messages/discard?id=${id}`, `/messages/${id}/replay`, `/messages/${id}/release`,
  `/keys?key=${enc(`mq:consumed:pay_success:${hostile}`)}`, `/keys/release?key=${enc(`mq:consumed:pay_success:${hostile}`)}`,
];
const echoes = [
  `/?q=${enc(hostile)}`, `/messages?q=${enc(hostile)}`, `/messages?state=${enc(hostile)}`, `/messages?retries_min=${enc(hostile)}`, `/messages?cursor=${enc(hostile)}`,
  `/audit?object=${enc(hostile)}`, `/keys?key=${enc(hostile)}`, `/replays/${enc(hostile)}`, `/messages/${enc(hostile)}`, `/sources/${enc(hostile)}/pause`, `/${enc(hostile)}`,
];

for (const width of [1440, 360]) {
  test(`a hostile message is text, ${width} px`, () => withPage(
    { viewport: { width, height: 800 }, allow: [409] }, (page) => inert(page, shows),
  ));
}

test("what an address brings is text", () => withPage({ allow: [400, 404, 409, 422] }, (page) => inert(page, echoes, "")));

test("what an operator writes is text, also where it arrives by itself", () => withPage({}, async (page) => {
  const message = `/messages/${letters["P-BANK-HOSTILE"]}`;
  const nobody = (found) => assert.ok(found.length === 0, `\n${found.join("\n")}`);
  await page.goto(base + message);
  await page.getByTestId("note-text").fill(`${hostile}\u202eto the left`); // and nothing ends it
  await page.getByTestId("add-note").click();
  await see(page, "notes", hostile);
  await page.goto(`${base}${message}/replay`);
  await page.getByTestId("reason").fill(`${hostile}\u202eto the left`);
  await page.getByTestId("confirm-button").click();
  await see(page, "outcome", "processed");
  nobody(await harm(page));
  await inert(page, ["/replays", "/audit", "/", message]);
}));

test("the body is a download and nothing that a browser shows", () => withPage({}, async (page) => {
  const answer = await page.request.get(`${base}/messages/${id}/body`);
  const { "content-type": type, "content-disposition": disposition, "x-content-type-options": sniff } = answer.headers();
  assert.match(disposition, /^attachment/);
  assert.doesNotMatch(type, /html|svg|xml|javascript/);
  assert.equal(sniff, "nosniff");
  assert.ok((await answer.text()).includes("hostile-tag"), "the body is not as it came");
}));
