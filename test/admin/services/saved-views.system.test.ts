/** Views of the console's lists that an operator saves. ADMIN-23 */
import { expect } from "vitest";
import type { Answered } from "../../support/system.ts";
import { adminTest as test } from "./fixtures.ts";
import { askWith } from "./request.ts";

const list = "SavedViewService/ListSavedViews";
const save = "SavedViewService/SaveView";
const remove = "SavedViewService/DeleteView";
const drafts = { page: "invoices", name: "Drafts", search: "status=draft" };

const namesOf = ({ data = [] }: Answered["json"]) => data.map(({ name }: { name: string }) => name);

test("a view is saved, replaced under its name and deleted, by a reader too", async ({
  system,
  admin,
  own,
}) => {
  const reader = askWith(system, await system.operator("read-only", "Rita"));
  const { view } = await reader.done(save, { ...own, ...drafts });
  expect(view).toEqual({ ...drafts, id: expect.any(String) });
  expect(await admin.lastEntry()).toMatchObject({
    operatorName: "Rita",
    targetKind: "saved_view",
    target: view.id,
  });
  expect(JSON.stringify(await admin.lastEntry())).not.toContain(drafts.search);
  const other = { ...drafts, search: "status=approved" };
  expect((await reader.done(save, { ...own, ...other })).view).toEqual({ ...other, id: view.id });
  await reader.done(save, { ...own, ...drafts, page: "credit-notes" });
  await reader.done(save, { ...own, ...drafts, name: "All", search: "" });
  expect(namesOf(await reader.done(list, own))).toEqual(["All", "Drafts", "Drafts"]);
  expect(await reader.done(remove, { ...own, id: view.id })).toEqual({ deleted: true });
  expect(await reader.done(remove, { ...own, id: view.id })).toEqual({});
  expect(namesOf(await reader.done(list, own))).toEqual(["All", "Drafts"]);
});

test("a view is of its operator and organisation", async ({ system, admin, own }) => {
  const { view } = await admin.done(save, { ...own, ...drafts, name: "Mine" });
  const other = askWith(system, await system.operator("owner", "Otto"));
  expect(namesOf(await other.done(list, own))).toEqual([]);
  expect(await other.done(remove, { ...own, id: view.id })).toEqual({});
  const { organisationId: organisation } = await system.organisation();
  expect(namesOf(await admin.done(list, { organisation }))).toEqual([]);
  expect(await admin.done(remove, { organisation, id: view.id })).toEqual({});
  expect(namesOf(await admin.done(list, own))).toContain("Mine");
});

test("a fifty-first view is refused, and one that is replaced is not", async ({ system, own }) => {
  const admin = askWith(system, await system.operator("admin", "Ada"));
  for (let count = 1; count <= 50; count += 1)
    await admin.done(save, { ...own, ...drafts, name: `View ${count}` });
  expect(await admin.refused(save, { ...own, ...drafts, name: "View 51" })).toBe("invalid_state");
  await admin.done(save, { ...own, ...drafts, name: "View 50", search: "" });
});

test("a view that is not well formed is refused with its field", async ({ admin, own }) => {
  const wrong = { page: "In voices", name: "", search: "x".repeat(2_001) };
  for (const [field, value] of Object.entries(wrong))
    expect(await admin.refused(save, { ...own, ...drafts, [field]: value })).toBe(
      `invalid_parameter ${field}`,
    );
  const organisation = crypto.randomUUID();
  expect(await admin.refused(list, { organisation })).toMatch(/^organisation_not_found/);
  expect(await admin.refused(save, { organisation, ...drafts })).toMatch(/^organisation_not_found/);
  expect(await admin.refused(remove, { organisation, id: "none" })).toMatch(
    /^organisation_not_found/,
  );
});
