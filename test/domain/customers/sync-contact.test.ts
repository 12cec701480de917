/** The state of a customer by its contact in the ledger, and the end of merges. CUSTOMER-4. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  maxMerges,
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
  test("moves to the contact into which its contact was merged, if that archived it", () => {
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

  test("lead to the last contact, to an unobserved one, or nowhere in a cycle", () => {
    const observed = new Map<string, Pick<ObservedContactState, "status" | "mergedInto">>([
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
    expect(resolveMerges("a", observed)).toEqual({ kind: "end", contactId: "c" });
    expect(resolveMerges("d", observed)).toEqual({ kind: "unseen", contactId: "unknown" });
    expect(resolveMerges("i", observed)).toEqual({ kind: "end", contactId: "i" });
    for (const id of ["e", "f", "g", "h"])
      expect(resolveMerges(id, observed)).toEqual({ kind: "nowhere" });
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
    expect(resolveMerges("0", chain(maxMerges))).toEqual({
      kind: "end",
      contactId: String(maxMerges),
    });
    expect(resolveMerges("0", chain(maxMerges + 1))).toEqual({ kind: "nowhere" });
  });

  test("come to an end whatever the ledger says", () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    const status = fc.constantFrom("active", "archived", "erased");
    const observed = fc.array(fc.tuple(id, fc.record({ status, mergedInto: fc.option(id) })));
    fc.assert(
      fc.property(id, observed, (from, contacts) => {
        const resolved = resolveMerges(from, new Map(contacts));
        if (resolved.kind !== "end") return;
        const end = new Map<string, (typeof contacts)[number][1]>(contacts).get(resolved.contactId);
        expect(end?.status === "archived" && end.mergedInto !== null).toBe(false);
      }),
    );
  });
});
