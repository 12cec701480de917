/** `billing customers import`: pages, progress, rejected contacts, and an interrupted import. */
import { describe, expect } from "vitest";
import type { ImportCustomersRequest } from "../../../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { type AdminServer, refuse, run, cliTest as test } from "../../calls-fixture.ts";

test.beforeEach(({ server }) => server.answer({}));

describe("customers import", () => {
  const pageSize = 60;
  const contacts = Array.from({ length: 130 }, (_, index) => `contact-${index}`);

  /**
   * Answers with pages of all contacts, or with the named ones. The contacts `rejected` are
   * rejected with `code`. Pages after `lastPage` are refused.
   */
  function answerContacts(
    server: AdminServer,
    rejected: readonly string[],
    code = "email_missing",
    lastPage = Number.POSITIVE_INFINITY,
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
        if (page > lastPage) return refuse("ledger_unavailable", "Not now.");
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

  test("--all reads page after page and accepts archived contacts", async ({ server }) => {
    answerContacts(server, ["contact-7"], "contact_inactive", undefined, 2);
    const ended = await run("customers import --all --search contact --json", { env: server.env });
    expect(ended.exitCode, ended.err).toBe(0);
    expect(server.received.map(({ request }) => request)).toMatchObject([
      { search: "contact" },
      { search: "contact", cursor: "2026-11-21T00:00:00|2" },
      { search: "contact", cursor: "2026-11-21T00:00:00|3" },
    ]);
    expect(ended.err.trim().split("\n")).toHaveLength(3);
    expect(ended.err).toContain(
      "129 imported, 0 already imported, 1 rejected, 6 suppliers left out",
    );
    const { results, ...counts } = JSON.parse(ended.out);
    expect(results).toHaveLength(130);
    expect(counts).toEqual({
      imported: 129,
      already_imported: 0,
      rejected: 1,
      skipped_suppliers: 6,
    });
    answerContacts(server, ["contact-7"]);
    expect(
      (await run("customers import --all --include-suppliers", { env: server.env })).exitCode,
    ).toBe(1);
    expect(server.received.at(-1)?.request).toMatchObject({ include_suppliers: true });
    const alone = await run("customers import --contact contact-1 --include-suppliers", {
      env: server.env,
    });
    expect([alone.exitCode, alone.err]).toEqual([
      2,
      expect.stringContaining("--include-suppliers is allowed only with --all"),
    ]);
  });

  test("--all prints the cursor of the page that failed, and continues from it", async ({
    server,
  }) => {
    answerContacts(server, [], "", 2);
    const ended = await run("customers import --all", { env: server.env });
    expect(ended.exitCode).toBe(1);
    expect(ended.err).toContain("Continue with --all --cursor '2026-11-21T00:00:00|3'");
    answerContacts(server, []);
    const rest = await run(["customers", "import", "--all", "--cursor", "2026-11-21T00:00:00|3"], {
      env: server.env,
    });
    expect(rest).toMatchObject({
      exitCode: 0,
      err: "10 imported, 0 already imported, 0 rejected\n",
    });
  });

  test("exits with 1 if a contact was rejected, and imports the others", async ({ server }) => {
    answerContacts(server, ["contact-7"]);
    const ended = await run(["customers", "import", "--contact", "contact-6", "contact-7"], {
      env: server.env,
    });
    expect(ended).toMatchObject({
      exitCode: 1,
      err: "1 imported, 0 already imported, 1 rejected\n",
    });
    expect(ended.out).toMatch(/^contact-7/m);
  });

  test("derives the key of each call from --idempotency-key", async ({ server }) => {
    answerContacts(server, []);
    await run("customers import --all --idempotency-key monday", { env: server.env });
    const keys = server.received
      .map(({ headers }) => headers.get("idempotency-key"))
      .filter((key) => key !== null);
    expect(keys).toEqual(["monday", "monday.1", "monday.2"]);
  });
});
