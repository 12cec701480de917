/** The form of a connection: checks in the order of its fields, fallbacks, and secrets. */
import { expect, test } from "vitest";
import { ConnectLedgerRequestSchema } from "../../../src/gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import {
  type ConnectionField,
  type ConnectionForm,
  connectionFieldNames,
  fillForm,
} from "../../../src/ledger/port/connection-form.ts";
import { createMemoryLedger } from "../../support/memory-ledger.ts";

const plain: ConnectionField = {
  fallback: null,
  isSecret: false,
  isAddress: false,
  faultOf: () => null,
};
const form: ConnectionForm = {
  tenant_id: { ...plain, faultOf: (value) => (value === "12" ? null : "must be 12") },
  client_secret: { ...plain, isSecret: true },
  base_url: { ...plain, isAddress: true, fallback: "https://ledger.example.com" },
};
const right = { tenant_id: "12", client_secret: "s" };
const noFault = () => null;

test("a form fills in what has a fallback and leaves other fields empty", () => {
  expect(fillForm(form, right, noFault)).toEqual({
    kind: "ok",
    values: {
      ...right,
      client_id: "",
      base_url: "https://ledger.example.com",
      identity_url: "",
    },
  });
});

test.each([
  [{ ...right, tenant_id: "13" }, "tenant_id must be 12"],
  [{ tenant_id: "12" }, "client_secret is required"],
  [{ ...right, client_id: "c" }, "client_id is no field of this kind of ledger"],
  [{ ...right, base_url: "ftp://x" }, "base_url must be like https://ledger.example.com"],
])("%o is refused: %s", (values, message) => {
  const filled = fillForm(form, values, (_, example) => `must be like ${example}`);
  const [field] = message.split(" ");
  expect(filled).toEqual({ kind: "wrong", field, message });
});

test("a field is a secret of a kind only if the contract keeps it secret", () => {
  const contract = ConnectLedgerRequestSchema.fields.map(({ name }) => name);
  expect(contract).toEqual(expect.arrayContaining([...connectionFieldNames]));
  for (const kind of [ledgers.xero, createMemoryLedger().kind]) {
    const secrets = Object.entries(kind.form).flatMap(([name, field]) =>
      field.isSecret ? [name] : [],
    );
    expect(secrets).toEqual(["client_secret"]);
  }
});
