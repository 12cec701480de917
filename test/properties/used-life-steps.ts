/** What happens to a subscription with usage in the properties of its life: drawn at random. */
import fc from "fast-check";
import { approve, end, meters, pass, report, restore, setUp, type UsedLife } from "./used-life.ts";

/** What happens to a subscription with usage. */
export type Step = (life: UsedLife) => UsedLife;

const someQuantity = fc.oneof(
  fc.integer({ min: 1, max: 30_000 }).map(BigInt),
  fc.integer({ min: 1, max: 40 }).map((whole) => BigInt(whole) * 10_000n),
);
/** Usage of any meter, also late or by a clock that is ahead. */
export const someReport = fc
  .tuple(fc.constantFrom(...meters), someQuantity, fc.constantFrom(0, 0, 0, -1, 1, 12, 33, 70))
  .map(
    ([meter, quantity, daysAgo]): Step =>
      (life) =>
        report(life, meter, quantity, daysAgo),
  );
const somePause = fc.constantFrom(1, 5, 13, 17, 31, 64).map(
  (days): Step =>
    (life) =>
      pass(life, days),
);
const someEvent = fc.constantFrom<Step>(
  (life) => end(life, "now"),
  (life) => end(life, "period_end"),
  restore,
  restore,
  approve,
  (life) => setUp(life, true),
  (life) => setUp(life, false),
  (life) => setUp(life, false),
);
/** What happens to it, one after the other. */
export const someSteps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: someReport },
    { weight: 3, arbitrary: somePause },
    { weight: 2, arbitrary: someEvent },
  ),
  { minLength: 1, maxLength: 60 },
);
/** How a subscription with usage begins. */
export const someLife = fc.record({
  firstInvoiceStatus: fc.constantFrom("draft", "draft", "approved", "awaiting_approval"),
  invoiceCreateDays: fc.constantFrom(0, 0, 10, 25),
  endAfterCycles: fc.constantFrom(null, null, 1, 4),
});
