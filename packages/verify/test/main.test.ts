/** The verifier as a command: its output and exit code. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

const main = join(import.meta.dirname, "../src/main.ts");
const line = {
  line: null,
  rule: "charge/1",
  facts: [
    { name: "quantity", value: "3", unit: "quantity", source: { object: "a", field: "b" } },
    { name: "price", value: "9.995", unit: "EUR", source: { object: "charge", field: "price" } },
  ],
  steps: [
    { id: "product", op: "mul", in: ["quantity", "price"], out: "29.985" },
    {
      id: "amount",
      op: "round",
      in: ["product", "places"],
      rounding: "half_away_from_zero",
      out: "29.99",
    },
  ],
  result: "29.99",
  amount: "29.9900",
};
const explanation = {
  format: "explanation/1",
  object: "invoice",
  id: null,
  number: null,
  available: true,
  currency: "EUR",
  places: 2,
  sheets: [],
  lines: [line],
  subtotal: "29.9900",
};

it.each([
  ["what follows", JSON.stringify(explanation), 0, "verified, lines: 1\n"],
  [
    "an amount that was rounded down",
    JSON.stringify(explanation).replaceAll("29.99", "29.98"),
    1,
    'does not follow at lines.0.steps.1 (amount).out: is "29.98", and "29.99" follows\n',
  ],
  [
    "a document without an explanation",
    JSON.stringify({ format: "explanation/1", available: false, reason: "issued_before" }),
    1,
    "does not follow at available: is false: issued_before\n",
  ],
  [
    "a member twice",
    JSON.stringify(explanation).replace('"places":2', '"places":2,"places":2'),
    1,
    "does not follow at text: has a member twice\n",
  ],
])("says of %s whether it is verified", (_, input, status, stdout) => {
  const run = spawnSync(process.execPath, [main], { input, encoding: "utf8" });
  expect([run.stdout, run.status]).toEqual([stdout, status]);
});
