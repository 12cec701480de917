/** Refusals of values in plain words, by the rules of the contract. */
import { expect } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { textFormats } from "../../../src/services/text-formats.ts";
import { createValidate } from "../../../src/transport/rpc/validation/validate.ts";
import { adminServices, refuse, run, cliTest as test } from "./calls-fixture.ts";

const id = "0199a0b2-2222-7000-8000-000000000001";
const long = "x".repeat(256);
const plan = "plans create --code team --name Team --type per-unit";
const charges = (price: string) => ({
  "order.json": JSON.stringify({ charges: [{ charge_code: "a" }, { charge_code: "b", price }] }),
});
const order = "subscriptions create --customer-code ACME --plan-code team --reason Phone";

/** Answers every method as the service does if the request breaks a rule of the contract. */
function validating(): Record<string, (request: object, method: { name: string }) => object> {
  const methods = adminServices.flatMap(({ methods: all }) => all);
  const validate = createValidate(
    methods.map(({ input }) => input),
    textFormats,
  );
  const answer = (request: object, method: { name: string }) => {
    const schema = methods.find(({ name }) => name === method.name)?.input;
    try {
      if (schema !== undefined) validate(schema, request as never);
    } catch (error) {
      if (error instanceof Refusal)
        refuse(error.code, error.message, ...(error.param === null ? [] : [error.param]));
      throw error;
    }
    return {};
  };
  return Object.fromEntries(methods.map(({ name }) => [name, answer]));
}

test.for([
  [`${plan} --price 1.23456`, "price must have at most four decimals"],
  [`${plan} --price 1,50`, "price must have a point before the decimals, and no comma"],
  [`${plan} --price=-1`, "price must have no sign"],
  [`${plan} --price much`, "price must be a number such as 12.50"],
  [`${plan} --price 01`, "price must have no zero in front"],
  [`${plan} --price 1 --minimum-units -1`, "minimum_units must be at least 0"],
  [
    `plans create --code ${long} --name Team --type per-unit --price 1`,
    "code must have at most 100 chara",
  ],
  [`subscriptions units ${id} 1000000001 --reason More`, "units must be at most 1000000000"],
  ["plans list --limit 1000", "limit must be at most 100"],
  [`${order} --file order.json`, "charges.1.price must have at most four decimals"],
] as const)("%s is refused with: %s", async ([words, said], { server }) => {
  server.answer(validating());
  const ended = await run(words, { env: server.env, files: charges("1.23456") });
  expect(ended.exitCode, ended.err).toBe(1);
  expect(ended.err).toMatch(new RegExp(`^${said.replaceAll(".", "\\.")}`));
  // The code and the request stay, for those who search or report it.
  expect(ended.err).toMatch(/\(invalid_parameter, request request-1\)\n$/);
});

test.for([
  ["plans create --name Team --type per-unit --price 1", "--code is required: its code"],
  [`subscriptions units ${id} 7`, "--reason is required: why, 1 to 500 characters"],
  ["subscriptions list --starting-after INV-1", "--starting-after takes an id, such as"],
  ["audit list --target Ada", "--target takes an id, such as"],
  ["invoices list --status draft,open", "error: option '--status <list>' argument 'draft,open'"],
  ["listen", "--forward-to is required"],
  ["listen --forward-to http://shop.example/", "--forward-to takes an address of this machine"],
  [
    "invoices list --columns number,colour",
    "There is no column colour. The columns are id, number",
  ],
] as const)("%s is refused before anything is sent: %s", async ([words, said], { server }) => {
  server.answer({});
  const ended = await run(words, { env: server.env });
  expect([ended.exitCode, ended.out]).toEqual([2, ""]);
  expect(ended.err.slice(0, said.length)).toBe(said);
  expect(server.received).toEqual([]);
});

test("a refusal that the rules do not explain has the service's words", async ({ server }) => {
  const message = "price: must be a decimal such as 12.50, and below 1000000000";
  server.answer({ CreatePlan: () => refuse("invalid_parameter", message, "price") });
  const above = await run(`${plan} --price 1000000000`, { env: server.env });
  expect(above.err).toBe(`invalid_parameter: ${message} (param price, request request-1)\n`);
  server.answer({ CreatePlan: () => refuse("plan_code_taken", "Another plan has it.", "code") });
  const taken = await run(`${plan} --price 1`, { env: server.env });
  expect(taken.err).toMatch(/^plan_code_taken: Another plan has it\./);
});

test("JSON has the service's own message", async ({ server }) => {
  server.answer(validating());
  const ended = await run(`${plan} --price 1.23456 --json`, { env: server.env });
  expect(JSON.parse(ended.err).error).toMatchObject({ code: "invalid_parameter", param: "price" });
  expect(JSON.parse(ended.err).error.message).toMatch(/^price: does not have the form/);
});
