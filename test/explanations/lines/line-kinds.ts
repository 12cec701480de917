/**
 * Which scene shows each kind of line. A model of pricing, a kind of line, a rule, or a fact that
 * some lines have does not compile without its scene.
 */
import type { PlanType } from "../../../src/domain/catalogue/plan.ts";
import type { LineFacts } from "../../../src/domain/explanation/facts.ts";
import type { DocumentObject } from "../../../src/domain/explanation/named-facts.ts";
import type { RuleId } from "../../../src/domain/explanation/rules.ts";
import type { LineKind } from "../../../src/domain/model/invoice.ts";
import { changeScenes } from "./change-scenes.ts";
import { endScenes } from "./end-scenes.ts";
import { originScenes } from "./origin-scenes.ts";
import { planScenes } from "./plan-scenes.ts";
import { usageScenes } from "./usage-scenes.ts";

/** Every scene by its name. */
export const scenes = {
  ...planScenes,
  ...changeScenes,
  ...usageScenes,
  ...endScenes,
  ...originScenes,
};

/** The name of a scene. */
export type SceneName = keyof typeof scenes;

type Optional<Facts> = {
  [Name in keyof Facts]-?: Record<never, never> extends Pick<Facts, Name> ? Name : never;
}[keyof Facts];

/** The short names of facts that a line may lack. */
type OptionalFact<Facts = LineFacts> = Facts extends LineFacts ? Optional<Facts> : never;

/** The scene of a whole period at each model of pricing. */
export const ofPricing = {
  flat_fee: "a flat fee",
  per_unit: "a price per unit",
  tiered: "a walk through tiers",
  volume: "a volume band",
  stairstep: "a stair step",
} as const satisfies Readonly<Record<PlanType, SceneName>>;

/** The scene of each kind of line on an invoice. */
export const ofKind = {
  plan: "free units",
  charge: "a charge",
  proration: "a proration up",
  usage: "usage in arrears on the renewal invoice",
} as const satisfies Readonly<Record<LineKind, SceneName>>;

/** The scene of each rule on invoices and on credit notes, null where the rule has none. */
export const ofRule = {
  "flat_fee/1": { invoice: "a flat fee", credit_note: null },
  "plan/1": { invoice: "a discount", credit_note: null },
  "charge/1": { invoice: "a charge", credit_note: null },
  "proration/1": { invoice: "a deferred amount", credit_note: "a volume credit" },
  "usage/1": { invoice: "late usage", credit_note: "late usage that costs less" },
  "reversal_credit/1": {
    invoice: null,
    credit_note: "a credit for a period that does not begin",
  },
  "reversal_charge/1": {
    invoice: "a charge for a period that does not begin",
    credit_note: null,
  },
} as const satisfies Readonly<Record<RuleId, Readonly<Record<DocumentObject, SceneName | null>>>>;

/** The scene of each fact that only some lines have, by its stored name. */
export const ofFact = {
  u: "a walk through tiers",
  c: "a proration up",
  b: "units that an earlier change set",
  d: "a discount",
  w: "an amended line",
  a: "a charge at a requested price",
  x: "a deferred amount",
  z: "a line that is issued again",
} as const satisfies Readonly<Record<OptionalFact, SceneName>>;
