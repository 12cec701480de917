/** Reading changes if the ledger sends unreadable or too many objects. No server. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { beginCall } from "../../../src/ledger/port/call.ts";
import type { ExactJson, ExactObject } from "../../../src/ledger/port/exact-json.ts";
import { tooLargeCause } from "../../../src/ledger/port/http/exchange.ts";
import type { LedgerAnswer, LedgerChangeKind } from "../../../src/ledger/port/ledger.ts";
import { getMany, listChanges } from "../../../src/ledger/xero/changes.ts";
import type { XeroRequest, XeroWire } from "../../../src/ledger/xero/wire/wire.ts";

const call = beginCall({ deadlineMs: 60_000, jobKeys: [] });

/** The way to a ledger that answers each request by this. */
function wireOf(answer: (request: XeroRequest) => LedgerAnswer<ExactObject>): XeroWire {
  const refuse = (): never => {
    throw new Error("only read, and never closed");
  };
  return { ask: async (_, request) => answer(request), send: refuse, close: refuse };
}

const ok = (value: ExactObject): LedgerAnswer<ExactObject> => ({ kind: "ok", value });
const xeroTime = (at: number) => `/Date(${at}+0000)/`;
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

function contact(index: number, at: number, changes: ExactObject = {}): ExactObject {
  return {
    ContactID: idOf(index),
    Name: `Contact ${index}`,
    UpdatedDateUTC: xeroTime(at),
    ...changes,
  };
}

/** All pages of a kind; fails where there is no end. */
async function pagesOf(wire: XeroWire, kind: LedgerChangeKind, since: string) {
  const pages = [];
  for (let cursor: string | undefined; ; ) {
    expect(pages.length).toBeLessThan(500);
    const answer = await listChanges(wire, call, {
      kind,
      since,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (answer.kind !== "ok") throw new Error(`an answer was expected: ${JSON.stringify(answer)}`);
    pages.push(answer.value);
    if (answer.value.cursor === null) return pages;
    cursor = answer.value.cursor;
  }
}

const start = Date.parse("2026-04-11T10:00:00.000Z");

/** A ledger that lists these, newest first, `step` after each answer; `calls` counts them. */
function listing(rows: { id: number; at: number }[], step: (page: number) => void) {
  const asked: string[] = [];
  const wire = wireOf(({ query, headers }) => {
    const since = Date.parse(`${headers?.["if-modified-since"]}Z`);
    const [page, size] = [Number(query?.page), Number(query?.pageSize)];
    const isAscending = query?.order === "UpdatedDateUTC ASC";
    const sorted = rows
      .filter(({ at }) => at > since)
      .toSorted((a, b) => (isAscending ? a.at - b.at : b.at - a.at));
    const listed = sorted
      .slice((page - 1) * size, page * size)
      .map(({ id, at }) => contact(id, at));
    asked.push(`${page}`);
    step(page);
    return ok({ Contacts: listed });
  });
  return { wire, asked };
}

describe("a page of changes", () => {
  test("overlaps the next one by nothing, also if all changed in one second", async () => {
    const rows = Array.from({ length: 3_500 }, (_, id) => ({ id, at: start + (id % 500) }));
    const { wire, asked } = listing(rows, () => undefined);
    const pages = await pagesOf(wire, "contacts", new Date(start).toISOString());
    expect(pages.map(({ changes }) => changes.length)).toEqual([1_000, 1_000, 1_000, 500]);
    expect(asked).toEqual(["1", "2", "3", "4"]);
  });

  test("passes over nothing that stays as it is while others are changed or made", async () => {
    const change = fc.record({
      page: fc.integer({ min: 1, max: 4 }),
      id: fc.nat(3_999),
      isNew: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (changes) => {
        const rows = Array.from({ length: 3_500 }, (_, id) => ({ id, at: start + id }));
        let now = start + 10_000_000;
        const { wire } = listing(rows, (page) => {
          for (const { id, isNew } of changes.filter((one) => one.page === page)) {
            now += 1;
            const row = rows[id];
            if (isNew || row === undefined) rows.push({ id: 10_000 + rows.length, at: now });
            else row.at = now;
          }
        });
        const pages = await pagesOf(wire, "contacts", new Date(start).toISOString());
        const listed = new Set(pages.flatMap((page) => page.changes.map(({ id }) => id)));
        // What changes meanwhile is newer than the read. The next read begins with it.
        const missed = rows.filter(
          ({ id, at }) => at < start + 10_000_000 && !listed.has(idOf(id)),
        );
        expect(missed).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test("begins again from the time of a cursor that has the oldest first", async () => {
    const asked: unknown[] = [];
    const wire = wireOf(({ query, headers }) => {
      asked.push([headers?.["if-modified-since"], query?.page, query?.pageSize]);
      return ok({ Contacts: [] });
    });
    await listChanges(wire, call, { kind: "contacts", cursor: "2026-04-11T10:00:00|3|200" });
    await listChanges(wire, call, { kind: "contacts", cursor: "newest|2026-04-11T10:00:00|3|500" });
    expect(asked).toEqual([
      ["2026-04-11T10:00:00", "1", "1000"],
      ["2026-04-11T10:00:00", "3", "500"],
    ]);
  });

  test("reports readable and unreadable objects by id and continues after them", async () => {
    const listed: readonly ExactJson[] = [
      contact(1, start),
      contact(2, start + 1, { ContactStatus: "UNHEARD" }),
      { Name: "without an id", UpdatedDateUTC: xeroTime(start + 2) },
      "no object",
      contact(3, start + 3, { Name: "" }),
    ];
    const [page] = await pagesOf(
      wireOf(() => ok({ Contacts: listed })),
      "contacts",
      new Date(start).toISOString(),
    );
    expect(page?.changes.map(({ id }) => id)).toEqual([idOf(1)]);
    expect(page?.unread).toEqual([idOf(2), null, null, idOf(3)]);
    expect(page?.highWater).toBe(new Date(start + 3).toISOString());
  });

  test("that lists nothing says so by an empty list: an answer without one is none", async () => {
    const wire = wireOf(() => ok({ Status: "OK" }));
    const failed = { kind: "unavailable", cause: "the answer lists no Invoices" };
    expect(await listChanges(wire, call, { kind: "invoices" })).toMatchObject(failed);
    expect(await getMany(wire, call, { kind: "invoices", ids: [idOf(1)] })).toMatchObject(failed);
  });

  test("continues by page number if no object of a page has a time", async () => {
    const timeless = Array.from({ length: 1_000 }, (_, index) =>
      contact(index, start, { UpdatedDateUTC: null }),
    );
    const wire = wireOf(({ query }) =>
      ok({ Contacts: query?.page === "1" ? timeless : [contact(1_000, start)] }),
    );
    const pages = await pagesOf(wire, "contacts", new Date(start).toISOString());
    expect(pages.map(({ changes, unread }) => [changes.length, unread.length])).toEqual([
      [0, 1_000],
      [1, 0],
    ]);
  });

  test("that is too large is requested in smaller ones until all is read", async () => {
    const most = 10;
    const item = fc.record({
      afterMs: fc.constantFrom(0, 1, 400, 2_000),
      size: fc.constantFrom(1, 1, 1, 6, most + 1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 25 }), async (items) => {
        let at = start;
        const all = items.map(({ afterMs, size }, index) => {
          at += afterMs;
          return { at, size, element: contact(index, at) };
        });
        let calls = 0;
        const wire = wireOf(({ query, headers }) => {
          calls += 1;
          const since = Date.parse(`${headers?.["if-modified-since"]}Z`);
          const [page, size] = [Number(query?.page), Number(query?.pageSize)];
          expect(query?.order).toBe("UpdatedDateUTC DESC");
          const newest = all.filter((one) => one.at > since).reverse();
          const listed = newest.slice((page - 1) * size, page * size);
          if (listed.reduce((sum, one) => sum + one.size, 0) > most) {
            return { kind: "unavailable", outcome: "not_sent", cause: tooLargeCause };
          }
          return ok({ Contacts: listed.map(({ element }) => element) });
        });
        const pages = await pagesOf(wire, "contacts", new Date(start).toISOString());
        const listed = new Set(pages.flatMap(({ changes }) => changes.map(({ id }) => id)));
        const readable = all
          .filter(({ size }) => size <= most)
          .map(({ element }) => element.ContactID);
        expect([...listed].sort()).toEqual(readable.sort());
        // Each object that is too large is reported and costs no call for each of the others.
        expect(pages.some(({ unread }) => unread.includes(null))).toBe(
          readable.length < all.length,
        );
        expect(calls).toBeLessThanOrEqual(12 + 12 * all.length);
      }),
    );
  });
});

test("of ids distinguishes unreadable objects from missing ones", async () => {
  const ids = [1, 2, 3].map(idOf);
  const broken = contact(2, start, { Name: "" });
  const found = wireOf(() =>
    ok({ Contacts: [contact(1, start), broken, contact(9, start, { Name: "" })] }),
  );
  expect(await getMany(found, call, { kind: "contacts", ids })).toMatchObject({
    kind: "ok",
    value: { found: [{ id: idOf(1) }], unread: [idOf(2)] },
  });
  // Which one it is that has no id is not known: any that is not found may be.
  const nameless = wireOf(() =>
    ok({ Contacts: [contact(1, start), { ...broken, ContactID: null }] }),
  );
  expect(await getMany(nameless, call, { kind: "contacts", ids })).toMatchObject({
    kind: "ok",
    value: { found: [{ id: idOf(1) }], unread: [idOf(2), idOf(3)] },
  });
});
