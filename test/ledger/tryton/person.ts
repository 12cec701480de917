/** What a person does in Tryton's own client: with documents by our numbers, parties by codes. */
import { rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { type Decimal, readTryton, rpcContext } from "./both-books.ts";

/** A person with all rights in the company. */
export interface Person {
  /** Posts a draft. */
  post(number: string): Promise<void>;
  /** Cancels a document, a posted one by a counter-move. */
  cancel(number: string): Promise<void>;
  /** Books a payment of an invoice by the client's form, by default of all that is due. */
  pay(number: string, amount?: string): Promise<void>;
  /** Reconciles the receivable lines of documents and of their payments, which come to nothing. */
  reconcile(...numbers: readonly string[]): Promise<void>;
  /** Takes the reconciliation of a document apart. */
  unreconcile(number: string): Promise<void>;
  /** Takes back the last entry that pays a document, by a counter-entry. */
  takeBack(number: string): Promise<void>;
  /** Creates a party with an address. */
  addParty(code: string, name: string): Promise<void>;
  changeParty(code: string, changes: object): Promise<void>;
  /** Replaces a party by another one. */
  merge(code: string, into: string): Promise<void>;
}

/** A person at a company. */
export function personAt(access: TrytonAccess): Person {
  const rpc = rpcAt(access.databaseUrl, access.password);
  const read = async (
    model: string,
    domain: readonly unknown[],
    fields: readonly string[] = ["id"],
  ) => {
    const [row] = await readTryton(access, model, domain, fields);
    if (row === undefined) throw new Error(`Tryton has no ${model} ${JSON.stringify(domain)}`);
    return row;
  };
  const documentOf = (number: string, fields?: readonly string[]) =>
    read("account.invoice", [["reference", "=", number]], fields);
  const partyOf = async (code: string) => (await read("party.party", [["code", "=", code]])).id;
  const press = async (button: string, number: string) => {
    const { id } = await documentOf(number);
    await warned(() => rpc(`model.account.invoice.${button}`, [id], rpcContext));
  };
  const linesOf = async (number: string) => {
    const { lines_to_pay, payment_lines } = await documentOf(number, [
      "lines_to_pay",
      "payment_lines",
    ]);
    return [lines_to_pay, payment_lines].flat() as readonly number[];
  };
  /** Goes on after a warning. */
  const warned = async (act: () => Promise<unknown>) => {
    try {
      await act();
    } catch (error) {
      const [, name] = /"UserWarning",\["([^"]+)"/.exec(String(error)) ?? [];
      if (name === undefined) throw error;
      const user = (await read("res.user", [["login", "=", "admin"]])).id;
      await rpc("model.res.user.warning.create", [{ user, name }], rpcContext);
      await act();
    }
  };
  /** Fills in the forms of a wizard on these records, one after the other. */
  const fillIn = async (
    wizard: string,
    [model, ids]: readonly [string, readonly unknown[]],
    forms: readonly (readonly [values: object, button: string])[],
  ) => {
    const context = { ...rpcContext, active_model: model, active_ids: ids, active_id: ids[0] };
    const begun = await rpc(`wizard.${wizard}.create`, context);
    const [session, state] = begun as readonly [number, string];
    for (const [values, button] of forms.length > 0 ? forms : [[{}, state] as const])
      await warned(() => rpc(`wizard.${wizard}.execute`, session, values, button, context));
    await rpc(`wizard.${wizard}.delete`, session, context);
  };
  const methodOf = async () => {
    const [known] = await readTryton(access, "account.invoice.payment.method", [], ["id"]);
    if (known !== undefined) return known.id;
    const journal = (await read("account.journal", [["type", "=", "cash"]])).id;
    const cash = (await read("account.account", [["code", "=", "1.1.1"]])).id;
    const values = { name: "Cash", company: 1, journal, credit_account: cash, debit_account: cash };
    const created = await rpc("model.account.invoice.payment.method.create", [values], rpcContext);
    return (created as readonly number[])[0];
  };
  return {
    post: (number) => press("post", number),
    cancel: (number) => press("cancel", number),
    pay: async (number, amount) => {
      const fields = ["party", "currency", "company", "amount_to_pay", "accounting_date"];
      const { id, amount_to_pay, accounting_date, party, ...invoice } = await documentOf(
        number,
        fields,
      );
      const due = amount_to_pay as Decimal;
      const start = {
        ...{ currency: invoice.currency, company: invoice.company, payee: party, payees: [party] },
        amount: amount === undefined ? due : { ...due, decimal: amount },
        date: accounting_date,
        payment_method: await methodOf(),
      };
      const isPart = amount !== undefined && Number(amount) !== Number(due.decimal);
      await fillIn(
        "account.invoice.pay",
        ["account.invoice", [id]],
        [
          [{ start }, "choice"],
          ...(isPart ? [[{ start, ask: { type: "partial" } }, "pay"] as const] : []),
        ],
      );
    },
    reconcile: async (...numbers) => {
      const lines = (await Promise.all(numbers.map(linesOf))).flat();
      await fillIn("account.move.reconcile_lines", ["account.move.line", lines], []);
    },
    unreconcile: async (number) =>
      fillIn("account.move.unreconcile_lines", ["account.move.line", await linesOf(number)], []),
    takeBack: async (number) => {
      const { payment_lines } = await documentOf(number, ["payment_lines"]);
      const last = ["id", "=", (payment_lines as readonly number[]).at(-1)];
      const { move } = await read("account.move.line", [last], ["move"]);
      const form = [{ default: {} }, "cancel"] as const;
      await fillIn("account.move.cancel", ["account.move", [move]], [form]);
    },
    addParty: async (code, name) =>
      void (await rpc(
        "model.party.party.create",
        [{ code, name, addresses: [["create", [{}]]] }],
        rpcContext,
      )),
    changeParty: async (code, changes) =>
      void (await rpc("model.party.party.write", [await partyOf(code)], changes, rpcContext)),
    merge: async (code, into) => {
      const source = await partyOf(code);
      const ask = { source, destination: await partyOf(into) };
      await fillIn("party.replace", ["party.party", [source]], [[{ ask }, "replace"]]);
    },
  };
}

/** Books payments of invoices as drafts, all at once. Returns the ids of their moves. */
export async function draftPayments(
  access: TrytonAccess,
  payments: readonly { readonly number: string; readonly cents: number }[],
): Promise<unknown> {
  const [cash] = await readTryton(access, "account.account", [["code", "=", "1.1.1"]], ["id"]);
  const [journal] = await readTryton(access, "account.journal", [["type", "=", "cash"]], ["id"]);
  const standard = [["type", "=", "standard"]];
  const periods = await readTryton(access, "account.period", standard, ["start_date", "end_date"]);
  const numbers = [["reference", "in", payments.map(({ number }) => number)]];
  const fields = ["reference", "party", "account", "accounting_date"];
  const invoices = await readTryton(access, "account.invoice", numbers, fields);
  const zero = { __class__: "Decimal", decimal: "0" };
  const moves = payments.map(({ number, cents }) => {
    const invoice = invoices.find(({ reference }) => reference === number) ?? {};
    const { id, party, account, accounting_date: date } = invoice;
    const day = dayOf(date);
    const period = periods.find(
      ({ start_date, end_date }) => dayOf(start_date) <= day && day <= dayOf(end_date),
    );
    const amount = { ...zero, decimal: (cents / 100).toFixed(2) };
    const paying = { account, party, debit: zero, credit: amount, invoice_payment: id };
    const received = { account: cash?.id, debit: amount, credit: zero };
    const lines = [["create", [paying, received]]];
    return { company: 1, journal: journal?.id, period: period?.id, date, lines };
  });
  const rpc = rpcAt(access.databaseUrl, access.password);
  return rpc("model.account.move.create", moves, rpcContext);
}

/** Posts booked payments. */
export async function postPayments(access: TrytonAccess, moves: unknown): Promise<void> {
  await rpcAt(access.databaseUrl, access.password)("model.account.move.post", moves, rpcContext);
}

/** A day of Tryton as a number that grows with it. */
function dayOf(date: unknown): number {
  const { year, month, day } = date as { year: number; month: number; day: number };
  return (year * 100 + month) * 100 + day;
}
