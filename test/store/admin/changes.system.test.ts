/** The audit log of the admin API's writes (ADMIN-2). */
import { expect } from "vitest";
import { type Change, changed, createChanges } from "../../../src/store/admin/changes.ts";
import { newId } from "../../../src/store/database/ids.ts";
import type { Pool } from "../../../src/store/database/pool.ts";
import { db, dbOfAll } from "../../../src/store/database/prisma/client.ts";
import { databaseTest as test } from "../../support/fixtures.ts";

const actor = {
  operatorId: null,
  operatorName: "Olga",
  tokenId: null,
  operation: "Test/Change",
  requestId: "req_1",
};

const entries = (pool: Pool) => dbOfAll(pool).auditEntry.findMany({ orderBy: { seq: "asc" } });

function changeOf(name: string, members: Partial<Change>): Change {
  const target = { targetKind: "operator", targetId: newId(), organisationId: null } as const;
  return { ...target, before: null, after: { name }, ...members };
}

test("audit entries are stored in the write's order, with actor and both snapshots", async ({
  pool,
}) => {
  const first = changeOf("first", { after: { createdAt: new Date(0), hash: new Uint8Array(2) } });
  const changes = ["second", "third"].map((name) => changeOf(name, { before: { seq: 1n } }));
  const write = async () => changed("result", first, ...changes);
  expect(await createChanges(pool).run(actor, write)).toBe("result");
  const snapshots = (await entries(pool)).map(({ before, after }) => ({ before, after }));
  expect(snapshots).toEqual([
    { before: null, after: { created_at: "1970-01-01T00:00:00.000Z" } },
    { before: {}, after: { name: "second" } },
    { before: {}, after: { name: "third" } },
  ]);
  expect((await entries(pool))[0]).toMatchObject({ ...actor, targetId: first.targetId });
});

test("a write that fails keeps neither its rows nor its entries", async ({ pool }) => {
  const before = (await entries(pool)).length;
  const failing = createChanges(pool).run(actor, async (tx) => {
    const after = await db(tx).operator.create({
      data: { id: newId(), name: "Lost", role: "admin" },
    });
    return changed(null, changeOf("lost", { after }), changeOf("no id", { targetId: "no id" }));
  });
  await expect(failing).rejects.toThrow("invalid input syntax");
  expect(await db(pool).operator.count()).toBe(0);
  expect((await entries(pool)).length).toBe(before);
});
