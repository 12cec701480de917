/** What cannot be undone is asked about, and long work tells how far it is. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ImportCustomersRequest } from "../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { DocumentState } from "../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { type AdminServer, refuse, run, startAdminServer } from "./calls-fixture.ts";

const id = "0199a0b2-4444-7000-8000-000000000001";

let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer();
});
afterAll(() => server.stop());
beforeEach(() => server.answer({}));

const irreversible = [
  `api-keys revoke ${id}`,
  `operator-tokens revoke ${id}`,
  `plans set-status ${id} inactive`,
  `charges set-status ${id} inactive`,
  `organisations setup-mode ${id} on`,
  "usage void evt-7 --reason twice",
];

describe.each(irreversible)("%s", (words) => {
  test("is refused where nobody can be asked, unless --yes is given", async () => {
    const refused = await run(words, { env: server.env });
    expect(refused).toMatchObject({ exitCode: 2, err: expect.stringContaining("--yes") });
    expect(server.received).toEqual([]);
    expect((await run(`${words} --yes`, { env: server.env })).exitCode).toBe(0);
    expect(server.received).toHaveLength(1);
  });

  test("is done only after a yes", async () => {
    for (const answer of ["", "n", "yesterday"]) {
      const declined = await run(words, { env: server.env, answers: [answer] });
      expect(declined).toMatchObject({ exitCode: 1, err: "not_confirmed: Nothing was done.\n" });
    }
    expect(server.received).toEqual([]);
    const agreed = await run(words, { env: server.env, answers: ["y"] });
    expect(agreed.exitCode).toBe(0);
    expect(agreed.questions).toHaveLength(1);
  });
});

test("what can be undone is not asked about", async () => {
  for (const words of [
    `plans set-status ${id} legacy`,
    `organisations setup-mode ${id} off`,
    `customers deactivate ${id}`,
  ]) {
    expect((await run(words, { env: server.env })).exitCode).toBe(0);
  }
});

describe("importing", () => {
  const pageSize = 60;
  const contacts = Array.from({ length: 130 }, (_, index) => `contact-${index}`);

  /** Pages of all contacts but the one after `brokenOff`, and named ones; these are rejected, for this reason. */
  function answerContacts(
    rejected: readonly string[],
    code = "email_missing",
    brokenOff = Number.POSITIVE_INFINITY,
    skippedSuppliers = 0,
  ): void {
    const resultsOf = (ids: readonly string[]) => {
      const results = ids.map((ledgerContactId) => {
        return rejected.includes(ledgerContactId)
          ? { ledgerContactId, error: { code, message: "No." } }
          : { ledgerContactId };
      });
      const bad = results.filter((result) => "error" in result).length;
      return { results, imported: ids.length - bad, rejected: bad };
    };
    server.answer({
      ImportAllContacts: (request) => {
        const { cursor } = request as { cursor?: string };
        const page = cursor === undefined ? 1 : Number(cursor.split("|")[1]);
        if (page > brokenOff) return refuse("ledger_unavailable", "Not now.");
        const hasMore = page * pageSize < contacts.length;
        const ids = contacts.slice((page - 1) * pageSize, page * pageSize);
        return {
          ...resultsOf(ids),
          skippedSuppliers,
          hasMore,
          ...(hasMore ? { nextCursor: `2026-11-21T00:00:00|${page + 1}` } : {}),
        };
      },
      ImportCustomers: (request) => {
        return resultsOf(
          (request as ImportCustomersRequest).contacts.map(
            ({ ledgerContactId }) => ledgerContactId,
          ),
        );
      },
    });
  }

  test("all contacts goes page by page, tells its progress, and takes one that is archived for no failure", async () => {
    answerContacts(["contact-7"], "contact_inactive", undefined, 2);
    const ended = await run("customers import --all --search contact --json", { env: server.env });
    expect(ended.exitCode, ended.err).toBe(0);
    expect(server.received.map(({ request }) => request)).toMatchObject([
      { search: "contact" },
      { search: "contact", cursor: "2026-11-21T00:00:00|2" },
      { search: "contact", cursor: "2026-11-21T00:00:00|3" },
    ]);
    expect(ended.err.trim().split("\n")).toHaveLength(3);
    expect(ended.err).toContain("129 imported, 0 there already, 1 rejected, 6 suppliers left out");
    const { results, ...counts } = JSON.parse(ended.out);
    expect(results).toHaveLength(130);
    expect(counts).toEqual({
      imported: 129,
      already_imported: 0,
      rejected: 1,
      skipped_suppliers: 6,
    });
    answerContacts(["contact-7"]);
    expect(
      (await run("customers import --all --include-suppliers", { env: server.env })).exitCode,
    ).toBe(1);
    expect(server.received.at(-1)?.request).toMatchObject({ include_suppliers: true });
    const alone = await run("customers import --contact contact-1 --include-suppliers", {
      env: server.env,
    });
    expect([alone.exitCode, alone.err]).toEqual([
      2,
      expect.stringContaining("--include-suppliers goes with --all"),
    ]);
  });

  test("all contacts that is broken off says from where it goes on, and goes on from there", async () => {
    answerContacts([], "", 2);
    const ended = await run("customers import --all", { env: server.env });
    expect(ended.exitCode).toBe(1);
    expect(ended.err).toContain("Go on with --all --cursor '2026-11-21T00:00:00|3'");
    answerContacts([]);
    const rest = await run(["customers", "import", "--all", "--cursor", "2026-11-21T00:00:00|3"], {
      env: server.env,
    });
    expect(rest).toMatchObject({ exitCode: 0, err: "10 imported, 0 there already, 0 rejected\n" });
  });

  test("ends with 1 where a contact was rejected, and the others are customers all the same", async () => {
    answerContacts(["contact-7"]);
    const ended = await run(["customers", "import", "--contact", "contact-6", "contact-7"], {
      env: server.env,
    });
    expect(ended).toMatchObject({ exitCode: 1, err: "1 imported, 0 there already, 1 rejected\n" });
    expect(ended.out).toMatch(/^contact-7/m);
  });

  test("gives each of its calls a key of its own, the same when it is repeated", async () => {
    answerContacts([]);
    await run("customers import --all --idempotency-key monday", { env: server.env });
    const keys = server.received
      .map(({ headers }) => headers.get("idempotency-key"))
      .filter((key) => key !== null);
    expect(keys).toEqual(["monday", "monday.1", "monday.2"]);
  });
});

describe("retrying a document", () => {
  test("waits for the ledger's decision where that is wanted, and ends with 1 where it refused again", async () => {
    for (const [state, exitCode] of [
      [DocumentState.SYNCED, 0],
      [DocumentState.FAILED, 1],
    ] as const) {
      let looks = 0;
      server.answer({
        RetryDocument: () => ({ document: { id, state: DocumentState.WAITING } }),
        GetDocument: () => ({
          document: { id, state: ++looks < 2 ? DocumentState.WAITING : state },
        }),
      });
      expect((await run(`documents retry ${id} --wait`, { env: server.env })).exitCode).toBe(
        exitCode,
      );
      expect(looks).toBe(2);
    }
    expect((await run(`documents retry ${id}`, { env: server.env })).exitCode).toBe(0);
    expect((await run(`documents retry ${id} --wait soon`, { env: server.env })).exitCode).toBe(2);
  });
});
