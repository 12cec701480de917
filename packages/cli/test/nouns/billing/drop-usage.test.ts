/** `billing usage export` and `usage drop`: exports of any size, and the check before a drop. */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { organisation, refuse, run, cliTest as test } from "../../calls-fixture.ts";

/** Lines with a character that ends lines elsewhere. */
const linesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ id: `evt-${index}\u2028` }));
const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const checksumOf = (text: string) => createHash("sha256").update(text).digest("hex");

test("usage export writes each page, and shows the number and checksum", async ({ server }) => {
  const [first, last] = [linesOf(3), linesOf(2)];
  server.answer({
    ExportUsageEvents: (request) =>
      "cursor" in request && request.cursor === "evt-2"
        ? { lines: last }
        : { lines: first, hasMore: true, nextCursor: "evt-2" },
  });
  const [words, written] = ["usage export --last-month 2026-06 --to june --json", new Map()];
  const { exitCode, out } = await run(words, { env: server.env, written });
  const text = textOf([...first, ...last]);
  expect([exitCode, [...written]]).toEqual([0, [["june", text]]]);
  expect(JSON.parse(out)).toEqual({ file: "june", events: 5, checksum: checksumOf(text) });
});

test("usage export finishes no file if a page fails", async ({ server }) => {
  server.answer({ ExportUsageEvents: () => refuse("organisation_not_found", "lost") });
  const [words, written] = ["usage export --last-month 2026-06 --to june", new Map()];
  const { exitCode } = await run(words, { env: server.env, written });
  expect([exitCode, written.size]).toEqual([1, 0]);
});

test("usage drop sends the lines of the whole export in parts", async ({ server }) => {
  const lines = linesOf(2_500);
  server.answer({ DropUsageEvents: () => ({ dropped: 1, droppedBefore: 2 }) });
  const checksum = checksumOf(textOf(lines));
  const given = ["usage", "drop", "--from", "june", "--reason", "Kept", "--yes", "--json"];
  const files = { june: textOf(lines) };
  const drop = (events: string, sum: string) =>
    run([...given, "--export-events", events, "--export-checksum", sum], {
      env: server.env,
      files,
    });
  for (const [events, sum] of [
    ["2499", checksum],
    ["2500", "0".repeat(64)],
  ] as const) {
    const refused = await drop(events, sum);
    expect(refused).toMatchObject({ exitCode: 2, err: expect.stringContaining(checksum) });
  }
  expect(server.received).toEqual([]);
  const { exitCode, out } = await drop("2500", checksum);
  expect([exitCode, JSON.parse(out)]).toEqual([0, { dropped: 3, dropped_before: 6 }]);
  const requests = server.received.map(({ request }) => request as { readonly lines: string[] });
  expect(requests.map(({ lines }) => lines.length)).toEqual([1_000, 1_000, 500]);
  expect(requests.flatMap(({ lines }) => lines)).toEqual(lines);
  expect(requests[0]).toMatchObject({ organisation, reason: "Kept", export_checksum: checksum });
});
