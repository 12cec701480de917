/**
 * What a company lacks in Tryton is refused in our words: at the connection's check, and before a
 * document is sent (LEDGER-22, LEDGER-9, LEDGER-11).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  aCall,
  aLine,
  contactDraft,
  invoiceDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { type Rpc, rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import type { Ledger } from "../../../src/ledger/port/ledger.ts";
import { readTryton, rpcContext } from "./both-books.ts";
import { type LosingProxy, startLosingProxy } from "./losing-proxy.ts";
import { credentialsOf, freshTryton, whyNoTryton } from "./tryton-fixture.ts";

describe.skipIf(whyNoTryton !== null)("a company in Tryton", () => {
  let access: TrytonAccess;
  let proxy: LosingProxy;
  let ledger: Ledger;
  let contactId: string;
  let rpc: Rpc;

  beforeAll(async () => {
    access = await freshTryton();
    rpc = rpcAt(access.databaseUrl, access.password);
    proxy = await startLosingProxy(access.baseUrl);
    ledger = ledgers.tryton.connect(credentialsOf(access, proxy.url), {});
    const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()]));
    contactId = okOf(contact).id;
  });
  afterAll(async () => {
    await ledger?.close();
    await proxy?.close();
  });

  const find = async (model: string, domain: readonly unknown[]): Promise<unknown> => {
    const [row] = await readTryton(access, model, domain, ["id"]);
    if (row === undefined) throw new Error(`Tryton has no ${model} ${JSON.stringify(domain)}`);
    return row.id;
  };
  /** Writes values to a record, and returns how to write the others back. */
  const write = async (
    model: string,
    domain: readonly unknown[],
    values: object,
    back: object,
  ): Promise<() => Promise<unknown>> => {
    const id = await find(model, domain);
    await rpc(`model.${model}.write`, [id], values, rpcContext);
    return () => rpc(`model.${model}.write`, [id], back, rpcContext);
  };
  /** Closes the period of a day, and returns how to open it again. */
  const close = async (day: Date): Promise<() => Promise<unknown>> => {
    const date = {
      __class__: "date",
      year: day.getUTCFullYear(),
      month: day.getUTCMonth() + 1,
      day: day.getUTCDate(),
    };
    const id = await find("account.period", [
      ["start_date", "<=", date],
      ["end_date", ">=", date],
      ["type", "=", "standard"],
    ]);
    await rpc("model.account.period.close", [id], rpcContext);
    return () => rpc("model.account.period.reopen", [id], rpcContext);
  };
  const revenue = [["type.revenue", "=", true]];
  const configuration = ["account.configuration", []] as const;

  test.for([
    {
      lack: "that does not allow to cancel posted invoices",
      reason: "validation",
      words: /Cancel Customer Invoice/,
      take: () =>
        write(
          "company.company",
          [["id", "=", 1]],
          { cancel_invoice_out: false },
          { cancel_invoice_out: true },
        ),
    },
    {
      lack: "without an open period for today",
      reason: "period_locked",
      words: /no open period for today/,
      take: () => close(new Date()),
    },
    {
      lack: "without a revenue account that has a code",
      reason: "account_invalid",
      words: /no open revenue account with a code/,
      take: async () => {
        const accounts = await readTryton(access, "account.account", revenue, ["code"]);
        const codes = (codeOf: (code: unknown) => unknown) => async () => {
          for (const { id, code } of accounts)
            await rpc("model.account.account.write", [id], { code: codeOf(code) }, rpcContext);
        };
        await codes(() => null)();
        return codes((code) => code);
      },
    },
    {
      lack: "without a default receivable account",
      reason: "account_invalid",
      words: /no default receivable account/,
      take: async () => {
        const [row] = await readTryton(access, ...configuration, ["default_account_receivable"]);
        const { default_account_receivable } = row ?? {};
        const without = { default_account_receivable: null };
        return write(...configuration, without, { default_account_receivable });
      },
    },
    {
      lack: "whose key is of a user without the group Accounting",
      reason: "not_permitted",
      words: /lacks rights in Tryton: create account.invoice/,
      take: async () => {
        const group = await find("res.group", [["name", "=", "Accounting"]]);
        const [take, give] = [{ groups: [["remove", [group]]] }, { groups: [["add", [group]]] }];
        return write("res.user", [["login", "=", "billing"]], take, give);
      },
    },
  ])("$lack cannot be connected", async ({ reason, words, take }) => {
    const giveBack = await take();
    try {
      expect(await ledger.describe(aCall())).toMatchObject({
        kind: "refused",
        reason,
        messages: [expect.stringMatching(words)],
      });
    } finally {
      await giveBack();
    }
    expect((await ledger.describe(aCall())).kind).toBe("ok");
  });

  test("whose key is unknown, or that is not there, cannot be connected", async () => {
    const credentials = credentialsOf(access);
    const [database] = access.tenantId.split("/");
    for (const [wrong, answer] of [
      [{ clientSecret: "none" }, { kind: "unauthorised" }],
      [
        { tenantId: `${database}/99` },
        { reason: "not_permitted", messages: [expect.stringMatching(/does not belong to/)] },
      ],
      [{ tenantId: "tryton_none/1" }, { reason: "not_found" }],
    ] as const) {
      const other = ledgers.tryton.connect({ ...credentials, ...wrong }, {});
      expect(await other.describe(aCall())).toMatchObject(answer);
      await other.close();
    }
  });

  test.for([
    {
      draft: "in a currency that is not the company's",
      changes: { currency: "EUR" },
      reason: "currency_not_enabled",
      words: /keeps its books in GBP, not in EUR/,
    },
    {
      draft: "with three decimals in a currency of two",
      changes: { lines: [aLine("1", "1.0050", "1.0050")] },
      reason: "currency_not_enabled",
      words: /has 2 decimal places/,
    },
    {
      draft: "in a year without a fiscal year",
      changes: { issueDate: "1999-03-01" },
      reason: "period_locked",
      words: /no open period for the document's date 1999-03-01/,
    },
    {
      draft: "on an account that is closed",
      changes: { lines: [{ ...aLine("1", "1.0000", "1.0000"), accountCode: "201" }] },
      reason: "account_invalid",
      words: /Account 201 is no open revenue account/,
    },
    {
      draft: "with a tax that the company does not have",
      changes: { lines: [aLine("1", "1.0000", "1.0000", "999")] },
      reason: "tax_invalid",
      words: /Tax 999 is no active tax/,
    },
    {
      draft: "in a locked period",
      changes: { issueDate: "2026-03-01" },
      reason: "period_locked",
      words: /no open period for the document's date 2026-03-01/,
      take: () => close(new Date("2026-03-01")),
    },
  ])("takes no document $draft, which is not sent", async ({ changes, reason, words, take }) => {
    const giveBack = await take?.();
    okOf(await ledger.describe(aCall()));
    // It would be lost, and the answer would say so.
    proxy.order(/^POST \/account\.invoice$/, "before");
    try {
      const draft = invoiceDraft(contactId, { status: "approved", ...changes });
      const [answer] = okOf(await ledger.createInvoices(aCall(), [draft]));
      expect(answer).toMatchObject({
        kind: "refused",
        reason,
        messages: [expect.stringMatching(words)],
      });
    } finally {
      await proxy.restore();
      await giveBack?.();
    }
  });
});
