/** The verifier and its twin never say different things of an explanation. MONEY-9. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { oddExplanations } from "./odd-explanations.ts";
import { examples } from "./stored.ts";
import { askBoth, askTwin, isPythonHere } from "./twins.ts";

it("both verify every stored example", async () => {
  if (!isPythonHere("the twin over the stored examples")) return;
  const texts = examples.map(({ explanation }) => JSON.stringify(explanation));
  const all = { verified: texts.length, refused: 0, disagreements: [] };
  expect(await askBoth(texts)).toEqual(all);
});

it("both decide as the page does where an explanation is odd", async () => {
  if (!isPythonHere("the twin over odd explanations")) return;
  const { disagreements } = await askBoth(oddExplanations.map(({ text }) => text));
  expect(disagreements).toEqual([]);
  const said = await askTwin(oddExplanations.map(({ text }) => text));
  const verified = oddExplanations.filter((_, index) => said[index]?.startsWith("verified"));
  const isRight = oddExplanations.filter((odd) => odd.isRight);
  expect(verified.map(({ name }) => name)).toEqual(isRight.map(({ name }) => name));
});

it("the twin refuses bytes that are not UTF-8", async () => {
  if (!isPythonHere("the twin over bytes")) return;
  const [example] = examples;
  const bytes = Buffer.from(JSON.stringify(example?.explanation));
  const broken = Buffer.from(bytes);
  broken[broken.indexOf("INV")] = 0xff;
  const [said, saidOfBroken] = await askTwin([bytes, broken]);
  expect([said, saidOfBroken]).toEqual([
    expect.stringMatching(/^verified/),
    expect.stringMatching(/^does not follow/),
  ]);
});

it("the twin has at most 250 lines", () => {
  const file = join(import.meta.dirname, "../../packages/verify/python/verify.py");
  expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(250);
});
