/**
 * Every kind of line explains itself as a platform reads it: by which facts of which objects, by
 * which rule, in which steps. Both verifiers come to the same amount. MONEY-9.
 */
import { describe, expect } from "vitest";
import { verify } from "../../../packages/verify/src/verify.ts";
import { askWith } from "../../admin/services/request.ts";
import { meteredTest } from "../../scenario/usage-billing-fixture.ts";
import { perFile } from "../../support/file-fixture.ts";
import { askTwin, isPythonHere } from "../twins.ts";
import { type ExplainedLine, explainedLine, type Scene, type SceneParts } from "./issued-line.ts";
import { ofFact, ofKind, ofPricing, ofRule, type SceneName, scenes } from "./line-kinds.ts";

const test = meteredTest.extend(
  "parts",
  perFile,
  async ({ system, clocks: builder, use, to }): Promise<SceneParts> => ({
    system,
    builder,
    admin: askWith(system, await system.operator()),
    use,
    to,
    sandbox: async (day, changes) => {
      const organisation = await builder.sandbox(changes);
      await builder.setClock(organisation, day);
      return organisation;
    },
  }),
);

/** The most bytes of a line's stored facts. */
const maxFactBytes = 250;

/** The lines that the scenes issued, by the scene. */
const shown = new Map<string, ExplainedLine>();

/** The line of a scene that ran. */
function lineOf(scene: SceneName): ExplainedLine {
  const line = shown.get(scene);
  if (line === undefined) throw new Error(`${scene} was not explained`);
  return line;
}

describe.concurrent("the explanation of", () => {
  test.for(Object.entries<Scene>(scenes))("%s has its facts, rule and steps", async ([
    name,
    { issue, reads },
  ], { system, ask, parts }) => {
    const line = await explainedLine(system, ask, await issue(parts));
    shown.set(name, line);
    expect(await verify(line.text)).toMatchObject({ verified: true });
    expect(Buffer.byteLength(line.stored)).toBeLessThanOrEqual(maxFactBytes);
    expect(line.reads).toEqual(reads);
  });
});

test("the verifier in Python comes to the amount of every line too", async () => {
  if (!isPythonHere("the twin over every kind of line")) return;
  const answers = await askTwin([...shown.values()].map(({ text }) => text));
  expect(answers).toEqual(Object.keys(scenes).map(() => expect.stringMatching(/^verified/)));
});

test("every model of pricing, kind, rule and fact of lines is among them", () => {
  for (const [type, scene] of Object.entries(ofPricing))
    expect([scene, lineOf(scene).pricing]).toEqual([scene, type]);
  for (const [kind, scene] of Object.entries(ofKind))
    expect([scene, lineOf(scene).kind]).toEqual([scene, kind]);
  for (const [rule, scenesOf] of Object.entries(ofRule))
    for (const [object, scene] of Object.entries(scenesOf))
      if (scene !== null)
        expect([scene, lineOf(scene).rule, lineOf(scene).object]).toEqual([scene, rule, object]);
  for (const [fact, scene] of Object.entries(ofFact))
    expect([scene, Object.keys(JSON.parse(lineOf(scene).stored))]).toEqual([
      scene,
      expect.arrayContaining([fact]),
    ]);
});
