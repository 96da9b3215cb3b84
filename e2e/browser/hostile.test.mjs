// A message that is markup all over stays text on every page.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, letters, see, withPage } from "./console.mjs";

const hostile = `"'><hostile-tag onmouseover=alert(1)></hostile-tag><script>alert(1)</script><img src=x onerror=alert(1)>`;
const id = letters.hostile;
const enc = encodeURIComponent;

// inert wants that nothing of the message became an element, that it is there
// as text, and that it pushes nothing out of the page.
async function inert(page, shown = "<hostile-tag") {
  const found = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) =>
    ["HOSTILE-TAG", "IMG"].includes(e.tagName) || (e.tagName === "SCRIPT" && !e.src) ||
    e.getAttributeNames().some((name) => name.startsWith("on") || /["'<]/.test(name))).map((e) => e.outerHTML));
  assert.deepEqual(found, [], `${page.url()}: markup of a message became an element`);
  if (shown) assert.ok((await page.locator("body").innerText()).includes(shown), `${page.url()}: the message's own text is not there`);
  const [wide, room] = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
  assert.ok(wide <= room, `${page.url()}: ${wide} px wide in ${room} px`);
}

const shows = [
  "/messages", "/messages?state=open", `/messages/${id}`, `/messages/${id}?view=pretty`, `/messages/${id}?view=raw`, `/messages/${id}?view=hex`,
  `/messages/discard?id=${id}`, `/messages/${id}/replay`, `/messages/${id}/release`,
  `/keys?key=${enc(`mq:consumed:pay_success:${hostile}`)}`, `/keys/release?key=${enc(`mq:consumed:pay_success:${hostile}`)}`,
];
const echoes = [
  `/?q=${enc(hostile)}`, `/messages?q=${enc(hostile)}`, `/messages?state=${enc(hostile)}`, `/messages?retries_min=${enc(hostile)}`, `/messages?cursor=${enc(hostile)}`,
  `/audit?object=${enc(hostile)}`, `/keys?key=${enc(hostile)}`, `/replays/${enc(hostile)}`, `/messages/${enc(hostile)}`, `/sources/${enc(hostile)}/pause`, `/${enc(hostile)}`,
];

for (const width of [1440, 360]) {
  test(`a hostile message is text, ${width} px`, () => withPage({ viewport: { width, height: 800 }, allow: [409] }, async (page) => {
    await page.goto(base);
    await inert(page, "");
    for (const path of shows) {
      await page.goto(base + path);
      await page.locator("main").waitFor();
      await inert(page, path.includes("hex") ? "" : undefined);
    }
  }));
}

test("what an address brings is text", () => withPage({ allow: [400, 404, 409, 422] }, async (page) => {
  for (const path of echoes) {
    await page.goto(base + path);
    await page.locator("main").waitFor();
    await inert(page, "");
  }
}));

test("what an operator writes is text, also where it arrives by itself", () => withPage({}, async (page) => {
  const message = `${base}/messages/${letters["P-BANK-HOSTILE"]}`;
  await page.goto(message);
  await page.getByTestId("note-text").fill(hostile);
  await page.getByTestId("add-note").click();
  await see(page, "notes", hostile);
  await inert(page);
  await page.goto(`${message}/replay`);
  await page.getByTestId("reason").fill(hostile);
  await page.getByTestId("confirm-button").click();
  await see(page, "outcome", "processed");
  await inert(page);
  for (const path of ["/replays", "/audit", "/"]) {
    await page.goto(base + path);
    await inert(page);
  }
  await page.goto(message);
  await inert(page);
}));

test("the body is a download and nothing that a browser shows", () => withPage({}, async (page) => {
  const answer = await page.request.get(`${base}/messages/${id}/body`);
  const { "content-type": type, "content-disposition": disposition, "x-content-type-options": sniff } = answer.headers();
  assert.match(disposition, /^attachment/);
  assert.doesNotMatch(type, /html|svg|xml|javascript/);
  assert.equal(sniff, "nosniff");
  assert.ok((await answer.text()).includes("hostile-tag"), "the body is not as it came");
}));
