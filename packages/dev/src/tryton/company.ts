/**
 * Sets up a company in an empty Tryton over its own JSON-RPC: chart of accounts, fiscal years,
 * sequences, a tax, and a user with a key. People do the same in Tryton's client.
 */

/** What to set up. */
export interface CompanySettings {
  readonly name: string;
  readonly currency: string;
  readonly timezone: string;
  /** The years that get a fiscal year. */
  readonly years: readonly number[];
  /** Whether a posted invoice can be cancelled. */
  readonly cancelInvoiceOut: boolean;
}

/** A company that billing can connect to. */
export interface Company {
  readonly companyId: number;
  readonly key: string;
  /** The id of a tax on sales, and its percents. */
  readonly taxType: string;
  readonly percent: number;
}

/** Calls a method of Tryton as its administrator. */
export type Rpc = (method: string, ...params: readonly unknown[]) => Promise<unknown>;

/** Returns the calls to the database at `url`, with the administrator's password. */
export function rpcAt(url: string, password: string): Rpc {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString("base64")}`;
  return async (method, ...params) => {
    const answer = await fetch(`${url}/rpc/`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ id: 1, method, params }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Tryton answered ${method} with ${answer.status}: ${text}`);
    const body = JSON.parse(text) as { readonly result?: unknown; readonly error?: unknown };
    if (body.error !== undefined)
      throw new Error(`Tryton refused ${method}: ${JSON.stringify(body.error)}`);
    return "result" in body ? body.result : body;
  };
}

/** The code of a revenue account and its name, as in the demo ledger. */
const sales = { code: "200", name: "Sales" } as const;

/** The percents of the tax. */
const percent = 15;

/** Sets up a company. The modules are installed, and the database is otherwise empty. */
export async function setUpCompany(rpc: Rpc, settings: CompanySettings): Promise<Company> {
  const create = async (model: string, values: object, context: object = {}) => {
    const [id] = (await rpc(`model.${model}.create`, [values], context)) as readonly number[];
    if (id === undefined) throw new Error(`Tryton created no ${model}`);
    return id;
  };
  const find = async (model: string, domain: readonly unknown[], context: object = {}) => {
    const [id] = (await rpc(
      `model.${model}.search`,
      domain,
      0,
      1,
      [["id", "ASC"]],
      context,
    )) as readonly number[];
    if (id === undefined) throw new Error(`Tryton has no ${model} ${JSON.stringify(domain)}`);
    return id;
  };
  const party = await create("party.party", { name: settings.name });
  const currency = await currencyOf({ create, rpc }, settings.currency);
  const { cancelInvoiceOut: cancel_invoice_out, timezone } = settings;
  const company = await create("company.company", {
    party,
    currency,
    timezone,
    cancel_invoice_out,
  });
  const admin = await find("res.user", [["login", "=", "admin"]]);
  const membership = { companies: [["add", [company]]], company };
  await rpc("model.res.user.write", [admin], membership, {});
  const context = { company, companies: [company], _skip_warnings: true };
  await createChart(rpc, find, company, context);
  const accounts = { create, find, rpc, company, context };
  const taxType = await prepareAccounts(accounts);
  for (const year of settings.years) await createYear(accounts, year);
  const key = await createKey(accounts);
  return { companyId: company, key, taxType: String(taxType), percent };
}

type Find = (model: string, domain: readonly unknown[], context?: object) => Promise<number>;
type Create = (model: string, values: object, context?: object) => Promise<number>;

interface Parts {
  readonly create: Create;
  readonly find: Find;
  readonly rpc: Rpc;
  readonly company: number;
  readonly context: object;
}

const decimal = (text: string) => ({ __class__: "Decimal", decimal: text });
const date = (year: number, month: number, day: number) => {
  return { __class__: "date", year, month, day };
};

function currencyOf({ create }: Pick<Parts, "create" | "rpc">, code: string): Promise<number> {
  const digits = new Intl.NumberFormat("en", {
    style: "currency",
    currency: code,
  }).resolvedOptions().maximumFractionDigits;
  return create("currency.currency", {
    name: code,
    symbol: code,
    code,
    digits: digits ?? 2,
    rounding: decimal(digits === 0 ? "1" : `0.${"1".padStart(digits ?? 2, "0")}`),
  });
}

async function createChart(rpc: Rpc, find: Find, company: number, context: object): Promise<void> {
  const [session, start] = (await rpc("wizard.account.create_chart.create", context)) as readonly [
    number,
    string,
  ];
  const step = (data: object, state: string) =>
    rpc("wizard.account.create_chart.execute", session, data, state, context);
  if (start !== "start") throw new Error(`the chart's wizard begins with ${start}`);
  const template = await find("account.account.template", [["parent", "=", null]], context);
  const account = { company, account_template: template };
  await step({ start: {}, account }, "create_account");
  const ofType = (type: string) =>
    find(
      "account.account",
      [
        [`type.${type}`, "=", true],
        ["company", "=", company],
        ["party_required", "=", true],
        ["closed", "!=", true],
      ],
      context,
    );
  const properties = {
    company,
    account_receivable: await ofType("receivable"),
    account_payable: await ofType("payable"),
  };
  await step({ start: {}, account, properties }, "create_properties");
  await rpc("wizard.account.create_chart.delete", session, context);
}

/** Gives the accounts of sales their codes, closes one, and creates a tax. */
async function prepareAccounts({ create, find, rpc, company, context }: Parts): Promise<number> {
  const ofCompany = ["company", "=", company] as const;
  const isOpen = ["closed", "!=", true] as const;
  const revenueAccounts = [ofCompany, isOpen, ["type.revenue", "=", true]];
  const revenue = await find("account.account", revenueAccounts, context);
  await rpc("model.account.account.write", [revenue], sales, context);
  const [read] = (await rpc(
    "model.account.account.read",
    [revenue],
    ["type", "parent"],
    context,
  )) as readonly [{ readonly type: number; readonly parent: number }];
  const { type, parent } = read;
  await create(
    "account.account",
    { code: "201", name: "Old sales", company, type, parent, closed: true },
    context,
  );
  const taxAccount = await create(
    "account.account",
    { code: "600", name: "Tax on sales", company, type: await liability(find, company, context) },
    context,
  );
  return create(
    "account.tax",
    {
      name: `Tax ${percent}`,
      description: `Tax ${percent}`,
      company,
      type: "percentage",
      rate: decimal(String(percent / 100)),
      invoice_account: taxAccount,
      credit_note_account: taxAccount,
    },
    context,
  );
}

function liability(find: Find, company: number, context: object): Promise<number> {
  const domain = [
    ["company", "=", company],
    ["statement", "=", "balance"],
    ["receivable", "=", false],
    ["payable", "=", false],
  ];
  return find("account.account.type", domain, context);
}

async function createYear(parts: Parts, year: number): Promise<void> {
  const { create, find, rpc, company, context } = parts;
  const sequence = async (type: string, name: string) => {
    const sequenceType = await find("ir.sequence.type", [["name", "=", type]], context);
    const values = { name, sequence_type: sequenceType, company, prefix: `${name}-` };
    return create("ir.sequence.strict", values, context);
  };
  const invoices = await sequence("Invoice", `I${year}`);
  const notes = await sequence("Invoice", `C${year}`);
  const fiscalYear = await create(
    "account.fiscalyear",
    {
      name: String(year),
      start_date: date(year, 1, 1),
      end_date: date(year, 12, 31),
      company,
      move_sequence: await sequence("Account Move", `M${year}`),
      invoice_sequences: [
        [
          "create",
          [
            {
              company,
              out_invoice_sequence: invoices,
              out_credit_note_sequence: notes,
              in_invoice_sequence: invoices,
              in_credit_note_sequence: notes,
            },
          ],
        ],
      ],
    },
    context,
  );
  await rpc("model.account.fiscalyear.create_period", [fiscalYear], context);
}

/** Creates a user with the rights that billing needs, and a key of it. */
async function createKey({ create, find, company, context }: Parts): Promise<string> {
  const groups: number[] = [];
  for (const name of ["Accounting", "Party Administration"])
    groups.push(await find("res.group", [["name", "=", name]]));
  const user = await create(
    "res.user",
    {
      name: "Billing",
      login: "billing",
      companies: [["add", [company]]],
      company,
      groups: [["add", groups]],
    },
    context,
  );
  const key = crypto.randomUUID().replaceAll("-", "").repeat(2);
  await create("res.user.application", { key, user, application: "rest" });
  return key;
}
