/** Explanations of the documents of random lives, and of lines that are drawn one by one. */
import { createHash } from "node:crypto";
import { daysBetween } from "../../src/domain/calendar/civil-date.ts";
import type { DocumentObject } from "../../src/domain/explanation/named-facts.ts";
import { explain, type LineToExplain } from "../../src/domain/explanation/render.ts";
import type { Explanation } from "../../src/domain/explanation/shown.ts";
import { change, end, type Life, pass, restore } from "../properties/life.ts";
import { requestIn, type Step } from "../properties/life-steps.ts";

/** The name of a text: the first 32 hexadecimal digits of its SHA-256. */
export const hash = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 32);

/** A line as the domain drafts it. */
export type DraftedLine = Omit<LineToExplain, "id">;

/** The explanation of a document with these lines. Throws if they have none. */
export function explained(
  object: DocumentObject,
  currency: string,
  lines: readonly DraftedLine[],
): Explanation {
  const answer = explain(
    {
      object,
      id: "0198c0de-0000-7000-8000-0000000000a1",
      number: object === "invoice" ? "INV-0042" : "CN-0007",
      subscriptionId: "0198c0de-0000-7000-8000-0000000000dd",
      currency,
      lines: lines.map((line, index) => ({
        ...line,
        id: `0198c0de-0000-7000-8000-00000000000${index}`,
      })),
    },
    hash,
  );
  if (!answer.available) throw new Error(`not explained: ${answer.reason}`);
  return answer;
}

/** The life after a step; as before it if the step is refused. */
export function stepped(life: Life, step: Step): Life {
  switch (step.kind) {
    case "pass":
      return pass(life, step.days);
    case "near":
      return pass(
        life,
        Math.max(0, daysBetween(life.today, life.subscription.renewalDate) - step.days),
      );
    case "end":
      return end(life, step.request, step.removable) ?? life;
    case "restore":
      return restore(life) ?? life;
    case "change":
      return change(life, requestIn(life, step))?.life ?? life;
  }
}
