/**
 * For all changes of an object within a window, the published events are those of a model that sees
 * every step. EVENT-2.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ChangeKind,
  decideEvents,
  type ObjectKind,
  objectKinds,
} from "../../src/domain/events/event.ts";

type Members = Readonly<Record<string, unknown>>;

const statuses: Readonly<Record<ObjectKind, readonly string[]>> = {
  customer: ["active", "inactive"],
  subscription: ["pending", "active", "complete", "ended"],
  invoice: ["draft", "approved", "paid", "voided", "deleted", "scheduled", "not_in_external"],
  credit_note: ["approved", "paid", "voided", "deleted", "scheduled"],
};

/** The kind of event of a status, as the table of the contract has it; null if there is none. */
function kindOfStatus(kind: ObjectKind, status: unknown): ChangeKind | null {
  const words: Readonly<Record<string, ChangeKind>> = {
    "subscription ended": "ended",
    "subscription complete": "ended",
    "invoice paid": "paid",
    "invoice voided": "voided",
    "invoice deleted": "deleted",
    "credit_note voided": "voided",
    "credit_note deleted": "deleted",
  };
  return words[`${kind} ${status}`] ?? null;
}

const someMembers = fc.record({
  label: fc.constantFrom("", "a", 'é"\\'),
  units: fc.nat(2),
  end_date: fc.constantFrom(null, "2026-04-01"),
  lines: fc.array(fc.record({ amount: fc.constantFrom("1.0000", "2.0000") }), { maxLength: 2 }),
});

const someWindow = fc.constantFrom(...objectKinds).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    isNew: fc.boolean(),
    wasPublished: fc.boolean(),
    states: fc.array(fc.tuple(someMembers, fc.constantFrom(...statuses[kind])), {
      minLength: 1,
      maxLength: 6,
    }),
  }),
);

/** The kind of change that the database records for a step. */
function changeOf(kind: ObjectKind, from: Members, to: Members): ChangeKind | null {
  if (JSON.stringify(from) === JSON.stringify(to)) return null;
  const now = kindOfStatus(kind, to.status);
  return now !== null && kindOfStatus(kind, from.status) !== now ? now : "updated";
}

test("events of a window", () => {
  fc.assert(
    fc.property(someWindow, ({ kind, isNew, wasPublished, states }) => {
      const [first = {}, ...later] = states.map(
        ([members, status]): Members => ({ id: "1", ...members, status }),
      );
      const sequence = [first, ...later];
      const changes: ChangeKind[] = isNew ? ["created"] : [];
      for (const [place, to] of later.entries()) {
        const change = changeOf(kind, sequence[place] ?? {}, to);
        if (change !== null) changes.push(change);
      }
      fc.pre(changes.length > 0);
      const last = sequence.at(-1) ?? {};
      const before = isNew || !wasPublished ? null : first;
      const events = decideEvents({
        kind,
        changes,
        before: before === null ? null : JSON.stringify(before),
        after: JSON.stringify(last),
      });

      // The model: the status that it reached and still has; created; and updated if neither says
      // that something happened.
      const became = kindOfStatus(kind, last.status);
      const expected: string[] = isNew ? ["created"] : [];
      if (became !== null && changes.includes(became)) expected.push(became);
      const hasHappened =
        before === null ||
        JSON.stringify(before) !== JSON.stringify(last) ||
        changes.some((change) => change !== "updated");
      if (expected.length === 0 && hasHappened) expected.push("updated");
      expect(events.map(({ type }) => type)).toEqual(expected.map((word) => `${kind}.${word}`));

      // With what was otherwise put back, the object is as it was; what was not otherwise is not
      // there.
      for (const { previousAttributes } of events) {
        if (isNew) expect(previousAttributes).toBeNull();
        else {
          const previous = JSON.parse(previousAttributes ?? "") as Members;
          expect({ ...last, ...previous }).toEqual(before ?? last);
          for (const [name, value] of Object.entries(previous))
            expect(value).not.toEqual(last[name]);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});
