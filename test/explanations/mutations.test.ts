/**
 * A verifier and its twin find every change of an explanation by arithmetic alone, except those of
 * an identity, which only a look at the object that it names can find.
 */
import { expect, it } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import { identity, mutationsOf, renamedSheets } from "./mutations.ts";
import { examples } from "./stored.ts";
import { askTwin, isPythonHere } from "./twins.ts";

it("a change of any value, step, operand, row, rule, amount or tier is found", async () => {
  const mutations = examples.flatMap(({ name, explanation }) =>
    mutationsOf(explanation).map((one) => ({ name, ...one })),
  );
  const isTwinHere = isPythonHere("the twin over the mutations");
  const said = isTwinHere ? await askTwin(mutations.map(({ text }) => text)) : [];
  const [accepted, disagreements]: [string[], string[]] = [[], []];
  let [refuted, left] = [0, 0];
  for (const [index, { name, at, text }] of mutations.entries()) {
    const { verified } = await verify(text);
    if (isTwinHere && said[index]?.startsWith("verified") !== verified)
      disagreements.push(`${name}: ${at}`);
    if (identity.test(at)) {
      left += verified ? 1 : 0;
    } else {
      refuted += 1;
      if (verified) accepted.push(`${name}: ${at}`);
    }
  }
  expect([accepted, disagreements]).toEqual([[], []]);
  expect([refuted > 6_000, left > 650]).toEqual([true, true]);
});

it("a changed price that counts is found although its sheet has the right name", async () => {
  let [found, all] = [0, 0];
  for (const { explanation } of examples)
    for (const { text } of renamedSheets(explanation)) {
      all += 1;
      found += (await verify(text)).verified ? 0 : 1;
    }
  // The rest are prices and bounds that the quantity does not reach.
  expect(found / all).toBeGreaterThan(0.9);
});
