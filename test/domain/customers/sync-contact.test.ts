/** What a customer becomes by its contact in the ledger, and where merges of contacts lead. Issue 8 "Customers". */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  mostMerges,
  type ObservedContactState,
  resolveMerges,
  type SyncedCustomer,
  syncContact,
} from "../../../src/domain/customers/sync-contact.ts";

const customer: SyncedCustomer = {
  name: "Acme",
  firstName: null,
  lastName: null,
  email: "a@acme.example",
  status: "active",
  ledgerContactId: "a",
  isDeactivated: false,
};

const contact: ObservedContactState = {
  name: "Acme",
  firstName: null,
  lastName: null,
  email: "a@acme.example",
  status: "active",
  mergedInto: null,
};

describe("a customer", () => {
  test("goes over to the contact that its own was merged into, and only where that archived it", () => {
    const merged = { ...contact, status: "archived", mergedInto: "b" } as const;
    expect(syncContact(customer, merged, false)).toEqual({ ...customer, ledgerContactId: "b" });
    expect(syncContact(customer, merged, true)).toEqual({ ...customer, status: "inactive" });
    // An active contact carries its documents itself, whatever it says.
    expect(syncContact(customer, { ...merged, status: "active" }, false)).toEqual(customer);
    expect(syncContact(customer, { ...merged, status: "erased" }, false)).toEqual({
      ...customer,
      status: "inactive",
    });
  });
});

describe("the merges of a contact", () => {
  const archived = (mergedInto: string | null) => ({ status: "archived", mergedInto }) as const;

  test("lead to the last contact, to one that is still to be looked at, or nowhere where they lead round", () => {
    const seen = new Map<string, Pick<ObservedContactState, "status" | "mergedInto">>([
      ["a", archived("b")],
      ["b", archived("c")],
      ["c", { status: "active", mergedInto: "a" }],
      ["d", archived("unknown")],
      ["e", archived("f")],
      ["f", archived("e")],
      ["g", archived("g")],
      ["h", archived("e")],
      ["i", archived(null)],
    ]);
    expect(resolveMerges("a", seen)).toEqual({ kind: "end", contactId: "c" });
    expect(resolveMerges("d", seen)).toEqual({ kind: "unseen", contactId: "unknown" });
    expect(resolveMerges("i", seen)).toEqual({ kind: "end", contactId: "i" });
    for (const id of ["e", "f", "g", "h"])
      expect(resolveMerges(id, seen)).toEqual({ kind: "nowhere" });
  });

  test("are followed so many times and no more", () => {
    const chain = (length: number) =>
      new Map(
        Array.from({ length: length + 1 }, (_, index) => [
          String(index),
          index < length
            ? archived(String(index + 1))
            : ({ status: "active", mergedInto: null } as const),
        ]),
      );
    expect(resolveMerges("0", chain(mostMerges))).toEqual({
      kind: "end",
      contactId: String(mostMerges),
    });
    expect(resolveMerges("0", chain(mostMerges + 1))).toEqual({ kind: "nowhere" });
  });

  test("come to an end whatever the ledger says", () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    const status = fc.constantFrom("active", "archived", "erased");
    const seen = fc.array(fc.tuple(id, fc.record({ status, mergedInto: fc.option(id) })));
    fc.assert(
      fc.property(id, seen, (from, contacts) => {
        const told = resolveMerges(from, new Map(contacts));
        if (told.kind !== "end") return;
        const end = new Map<string, (typeof contacts)[number][1]>(contacts).get(told.contactId);
        expect(end?.status === "archived" && end.mergedInto !== null).toBe(false);
      }),
    );
  });
});
