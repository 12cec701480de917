/** How `npm run format` lays out SQL. */
import { expect, test } from "vitest";
import { formatStatements } from "../../../tools/sql/format.ts";

const laidOut = `const claim = query({
  name: "claim",
  text: sql\`
    SELECT d.id, \${columns("d", shape)}
    FROM deliveries d
    WHERE
      d.organisation_id = $1
      AND d.endpoint_id = $2
      AND d.state = 'pending'
      AND d.due_at <= now()
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
  \`,
});
`;

test("a statement has a line for each clause that does not fit on one", async () => {
  const oneLine = laidOut.replaceAll(/\n {4,}/g, " ").replace(" \n  `", "`");
  expect(await formatStatements(oneLine)).toBe(laidOut);
});

test("a statement that is laid out stays as it is", async () => {
  expect(await formatStatements(laidOut)).toBe(laidOut);
});

const packed = `const issue = sql\`
  INSERT INTO invoices
    (
      organisation_id, subscription_id, number, reference, type, status, currency, subtotal, total,
      issue_date
    )
  SELECT
    $1, r.subscription_id, r.number, r.reference, r.type, r.status, r.currency, r.subtotal,
    CASE WHEN r.is_credit AND r.total > 0 THEN -r.total ELSE r.total END AS total,
    count(*) FILTER (WHERE r.issue_date IS NOT NULL) AS dates
  FROM
    jsonb_to_recordset($2) AS r (
      subscription_id uuid, number text, reference text, type text, status text, currency text,
      subtotal numeric, total numeric, is_credit boolean, issue_date date
    )
\`;
`;

test("plain items of a list share lines, and a short case has one", async () => {
  const aLineEach = packed.replaceAll(", ", ",\n      ").replace(" ELSE", "\n      ELSE");
  expect(await formatStatements(aLineEach)).toBe(packed);
  expect(await formatStatements(packed)).toBe(packed);
});

test.for([
  ["a short statement", "const one = sql`SELECT id FROM organisations WHERE id = $1`;\n"],
  ["a fragment", "const due = sql`d.state = 'pending'   AND d.due_at <= now()`;\n"],
  [
    "a fragment in place of grammar",
    `const list = sql\`SELECT id   FROM a ORDER \${clause} LIMIT $2\`;\n`,
  ],
  ["text that is no SQL", "const text = `SELECT   1`;\n"],
] as const)("%s keeps its line", async ([, source]) => {
  expect(await formatStatements(source)).toBe(source);
});

test("a part may have a template of its own", async () => {
  const source = `const a = sql\`SELECT   \${of(sql\`x.y\`)} FROM \${tables[\`\${name}s\`]} t\`;\n`;
  const expected = `const a = sql\`SELECT \${of(sql\`x.y\`)} FROM \${tables[\`\${name}s\`]} t\`;\n`;
  expect(await formatStatements(source)).toBe(expected);
});

test("a template without an end is refused", async () => {
  await expect(formatStatements("const a = sql`SELECT 1")).rejects.toThrow("has no end");
});
