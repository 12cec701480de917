/** Explanations as messages: over REST the JSON of the format, else the same members. MONEY-9. */
import { toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { verify } from "../../packages/verify/src/verify.ts";
import { ExplanationSchema } from "../../src/gen/proto/billing/v1/explanations_pb.ts";
import { presentExplanation } from "../../src/present/explanations.ts";
import { compileWriter } from "../../src/transport/rest/write-json.ts";
import { at, document, type Json } from "../contract/answer-check.ts";
import { examples } from "../explanations/stored.ts";

const write = compileWriter(ExplanationSchema);

describe.each(examples)("the explanation $name", ({ explanation }) => {
  it("is over REST byte for byte what is verified", () => {
    expect(write(presentExplanation(explanation))).toBe(JSON.stringify(explanation));
  });

  it("has the same members as a message, which leaves out null and empty lists", () => {
    const { body, ...members } = toJson(ExplanationSchema, presentExplanation(explanation), {
      useProtoFieldName: true,
    }) as Record<string, unknown>;
    expect(body).toBe(JSON.stringify(explanation));
    expect(full(members)).toEqual(full(explanation));
  });
});

it("a document without an explanation has nothing after its reason", () => {
  const { format, object, id, number } = examples[0]?.explanation ?? {};
  const reason = { format, object, id, number, available: false, reason: "issued_before" } as const;
  expect(write(presentExplanation(reason as never))).toBe(JSON.stringify(reason));
});

it.each([
  "invoices",
  "credit_notes",
])("the example in the reference of %s verifies", async (kind) => {
  const operation = at(
    document,
    "paths",
    `/v1/${kind}/{id}/explanation`,
    "get",
    "responses",
    "200",
  );
  const example = at(operation ?? {}, "content", "application/json", "example");
  expect(await verify(JSON.stringify(example))).toEqual({ verified: true, lines: 1 });
});

it.each([
  ["post", "/v1/subscriptions/{id}/units/preview"],
  ["get", "/v1/subscriptions/{id}/upcoming_invoice"],
])("the example of %s %s explains the amount that it shows", async (verb, path) => {
  const answer = at(document, "paths", path, verb, "responses", "200");
  const example: Json = at(answer ?? {}, "content", "application/json", "example") ?? {};
  const [shown = example] = (example.issued_invoices ?? []) as readonly Json[];
  const [explanation] = [shown.explanation ?? shown.explanations].flat() as readonly Json[];
  expect(await verify(JSON.stringify(explanation))).toEqual({ verified: true, lines: 1 });
  expect(explanation?.subtotal).toBe(shown.subtotal);
});

/** A value without nulls, empty lists, zeros and false, which an unset field of a message is. */
function full(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(full);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([, of]) => of !== null && of !== 0 && of !== false && !(Array.isArray(of) && of.length === 0),
  );
  return Object.fromEntries(members.map(([name, of]) => [name, full(of)]));
}
