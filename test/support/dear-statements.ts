/**
 * Finds statements that read many rows, for tests that hold query plans at size. Each statement of
 * a piece of work is explained before it is sent, in its own transaction, and that is rolled back.
 */
import type pg from "pg";
import { expect } from "vitest";
import { planModes, rowsRead, rowsReadWithin, type SentStatement } from "./rows-read.ts";

type Query = (statement: string | pg.QueryConfig, values?: unknown[]) => Promise<unknown>;

type Measure = (statement: SentStatement) => Promise<void>;

/** `of` with a callback that receives each statement of rows before it is sent. */
function measuring<T extends object>(of: T, before: Measure): T {
  return new Proxy(of, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "query") return value.bind(target);
      const query: Query = async (statement, values) => {
        const sent = typeof statement === "string" ? { text: statement, values } : statement;
        if (/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i.test(sent.text))
          await before({ text: sent.text, values: sent.values ?? [] });
        return (value as Query).call(target, statement, values);
      };
      return query;
    },
  });
}

/**
 * Runs the work, and returns its statements of which a plan reads `most` rows or more, each with
 * the number.
 */
export async function dearStatements(
  pool: pg.Pool,
  most: number,
  work: (observed: pg.Pool) => Promise<unknown>,
): Promise<readonly string[]> {
  const dear: string[] = [];
  let count = 0;
  const note = (statement: SentStatement, mode: string, rows: number) => {
    count += 1;
    const text = statement.text.replaceAll(/\s+/g, " ").trim();
    if (rows >= most) dear.push(`${rows} rows, ${mode}: ${text}`);
  };
  const observed = measuring(pool, async (statement) => {
    for (const mode of planModes) note(statement, mode, await rowsRead(pool, statement, mode));
  });
  const connect = async () => {
    const client = await pool.connect();
    return measuring(client, async (statement) => {
      for (const mode of planModes)
        note(statement, mode, await rowsReadWithin(client, statement, mode));
    });
  };
  await work(
    new Proxy(observed, {
      get: (target, name) => (name === "connect" ? connect : Reflect.get(target, name)),
    }),
  );
  expect(count).toBeGreaterThan(0);
  return dear;
}
