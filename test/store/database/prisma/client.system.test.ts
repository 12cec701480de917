/**
 * Prisma's typed client inside our own transactions. A test covers each known way in which Prisma
 * loses or falsifies data.
 */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Prisma } from "../../../../src/gen/prisma/client.ts";
import { CommitRefused } from "../../../../src/store/database/connection.ts";
import { newId } from "../../../../src/store/database/ids.ts";
import { createPool, inTransaction } from "../../../../src/store/database/pool.ts";
import { db, dbOfAll } from "../../../../src/store/database/prisma/client.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/database.ts";
import { allow } from "../../../support/slowness.ts";

let database: FreshDatabase;
let pool: pg.Pool;
/** A pool whose statements soon fail in Node, while the server goes on. */
let impatient: pg.Pool;
const organisationId = newId();

beforeAll(async () => {
  database = await freshDatabase();
  pool = createPool({ databaseUrl: database.url, size: 4, name: "test" }, () => undefined);
  impatient = createPool({ databaseUrl: database.url, size: 1, name: "test" }, () => undefined);
  impatient.options.query_timeout = allow(400);
  await dbOfAll(pool).organisation.create({
    data: {
      id: organisationId,
      name: "Test",
      timezone: "UTC",
      defaultCurrency: "EUR",
      livemode: false,
    },
  });
});

beforeEach(async () => {
  await dbOfAll(pool).planTier.deleteMany({});
  await dbOfAll(pool).plan.deleteMany({});
});

afterAll(async () => {
  await pool?.end();
  await impatient?.end();
  await database?.drop();
});

function plan(code: string) {
  const id = newId();
  return {
    id,
    organisationId,
    code,
    name: code,
    type: "per_unit",
    price: "1",
    status: "active",
    currency: "EUR",
  };
}

async function codes(): Promise<readonly string[]> {
  const rows = await db(pool).plan.findMany({ where: { organisationId }, select: { code: true } });
  return rows.map(({ code }) => code).sort();
}

describe("a typed call and a statement of SQL in one transaction", () => {
  test("see each other's rows and are committed together", async () => {
    await inTransaction(pool, async (tx) => {
      await db(tx).plan.create({ data: plan("typed") });
      const { rows } = await tx.query("SELECT code FROM plans");
      expect(rows).toEqual([{ code: "typed" }]);
      await tx.query("UPDATE plans SET name = 'changed'");
      const found = await db(tx).plan.findFirst({ where: { organisationId, code: "typed" } });
      expect(found?.name).toBe("changed");
      expect(await codes()).toEqual([]);
    });
    expect(await codes()).toEqual(["typed"]);
  });

  test("are rolled back together", async () => {
    const failing = inTransaction(pool, async (tx) => {
      await db(tx).plan.create({ data: plan("typed") });
      throw new Error("the work failed");
    });
    await expect(failing).rejects.toThrow("the work failed");
    expect(await codes()).toEqual([]);
  });

  test("hold one connection, while calls of other transactions run in the same tick", async () => {
    const ids = await Promise.all(
      ["a", "b", "c"].map((code) =>
        inTransaction(pool, async (tx) => {
          await db(tx).plan.create({ data: plan(code) });
          const [mine, found] = await Promise.all([
            tx.query("SELECT pg_backend_pid() AS pid"),
            db(tx).plan.findFirst({ where: { organisationId, code } }),
          ]);
          expect(found?.code).toBe(code);
          return mine.rows[0].pid;
        }),
      ),
    );
    expect(new Set(ids).size).toBe(3);
  });
});

describe("a nested write, which Prisma sends in a transaction", () => {
  const tiers = { create: [{ position: 0, unitPrice: "2" }] };

  test("is committed with the transaction around it, not before", async () => {
    await inTransaction(pool, async (tx) => {
      await db(tx).plan.create({ data: { ...plan("nested"), tiers } });
      expect(await codes()).toEqual([]);
    });
    expect(await codes()).toEqual(["nested"]);
  });

  test("is rolled back with the transaction around it", async () => {
    const failing = inTransaction(pool, async (tx) => {
      await db(tx).plan.create({ data: { ...plan("nested"), tiers } });
      throw new Error("the work failed");
    });
    await expect(failing).rejects.toThrow("the work failed");
    expect(await codes()).toEqual([]);
  });

  test("that fails is rolled back alone, and the transaction goes on", async () => {
    const twice = { create: [...tiers.create, ...tiers.create] };
    await inTransaction(pool, async (tx) => {
      await db(tx).plan.create({ data: plan("before") });
      const nested = db(tx).plan.create({ data: { ...plan("x"), tiers: twice } });
      await expect(nested).rejects.toThrow(Prisma.PrismaClientKnownRequestError);
      await db(tx).plan.create({ data: plan("after") });
    });
    expect(await codes()).toEqual(["after", "before"]);
  });

  test("that starts during another one waits for it", async () => {
    await inTransaction(pool, async (tx) => {
      await Promise.all(
        ["a", "b"].map((code) => db(tx).plan.create({ data: { ...plan(code), tiers } })),
      );
    });
    expect(await codes()).toEqual(["a", "b"]);
  });

  test("over a pool has a separate transaction on one connection", async () => {
    await db(pool).plan.create({ data: { ...plan("nested"), tiers } });
    expect(await codes()).toEqual(["nested"]);
  });
});

describe("the five faults by which Prisma loses or falsifies data", () => {
  test("a transaction that fails by a time limit is never committed by the next one", async () => {
    const failing = inTransaction(impatient, async (tx) => {
      await db(tx).plan.create({ data: plan("failed") });
      await tx.query("SELECT pg_sleep(600)");
    });
    await expect(failing).rejects.toThrow();
    await inTransaction(impatient, (tx) => db(tx).plan.create({ data: plan("next") }));
    expect(await codes()).toEqual(["next"]);
  });

  test("a nested write that waits is never cut in two by a time limit of Prisma", async () => {
    const { id } = await db(pool).plan.create({ data: plan("waited") });
    const holder = await pool.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT 1 FROM plans WHERE id = $1 FOR UPDATE", [id]);
    const waiting = db(pool).plan.update({
      where: { id, organisationId },
      data: { name: "changed", tiers: { deleteMany: {} } },
    });
    const changed = waiting.then(() => "changed");
    // Longer than Prisma's own default of five seconds.
    await holder.query("SELECT pg_sleep(6)");
    await holder.query("COMMIT");
    holder.release();
    expect(await changed).toBe("changed");
  });

  test("a COMMIT that PostgreSQL answers with ROLLBACK is an error", async () => {
    const swallowing = inTransaction(pool, async (tx) => {
      await db(tx).plan.create({ data: plan("lost") });
      await db(tx)
        .plan.create({ data: plan("lost") })
        .catch(() => undefined);
    });
    await expect(swallowing).rejects.toThrow(CommitRefused);
    expect(await codes()).toEqual([]);
  });

  test("an instant is the same in a server with another time zone", async () => {
    const { rows } = await pool.query<{ name: string }>("SELECT current_database() AS name");
    const name = pg.escapeIdentifier(rows[0]?.name ?? "");
    await pool.query(`ALTER DATABASE ${name} SET TimeZone = 'Pacific/Auckland'`);
    const abroad = createPool(
      { databaseUrl: database.url, size: 1, name: "test" },
      () => undefined,
    );
    const separator = database.url.includes("?") ? "&" : "?";
    const own = `${database.url}${separator}options=-c%20work_mem%3D8MB`;
    const withOptions = createPool({ databaseUrl: own, size: 1, name: "test" }, () => undefined);
    try {
      const testClock = new Date("2026-03-01T12:34:56.789Z");
      for (const one of [abroad, withOptions]) {
        await dbOfAll(one).organisation.update({
          where: { id: organisationId },
          data: { testClock },
        });
        const text = "SELECT extract(epoch FROM test_clock)::text AS at FROM organisations";
        expect((await one.query(text)).rows).toEqual([{ at: "1772368496.789000" }]);
        const read = await dbOfAll(one).organisation.findFirst({ where: { id: organisationId } });
        expect(read?.testClock).toEqual(testClock);
      }
      expect((await withOptions.query("SHOW work_mem")).rows).toEqual([{ work_mem: "8MB" }]);
    } finally {
      await pool.query(`ALTER DATABASE ${name} RESET TimeZone`);
      await abroad.end();
      await withOptions.end();
    }
  });

  test("an undefined value in a filter is refused instead of meaning no condition", async () => {
    const id = undefined as unknown as string;
    const counting = db(pool).plan.count({ where: { organisationId, id } });
    await expect(counting).rejects.toThrow(Prisma.PrismaClientValidationError);
  });
});

describe("a call on a tenant's model", () => {
  const id = newId();

  test.each<readonly [string, () => Promise<unknown>]>([
    ["findMany", () => db(pool).plan.findMany({})],
    ["findFirst", () => db(pool).plan.findFirst({ where: { id } })],
    ["count", () => db(pool).plan.count()],
    ["updateMany", () => db(pool).plan.updateMany({ data: { name: "x" } })],
    ["deleteMany", () => db(pool).plan.deleteMany()],
    ["create", () => db(pool).plan.create({ data: { id } as never })],
  ])("%s without an organisation is refused", async (_method, call) => {
    await expect(Promise.resolve().then(call)).rejects.toThrow("without an organisation");
  });

  test("cannot be findUnique, because Prisma merges those of one tick", () => {
    expect(db(pool).plan).not.toHaveProperty("findUnique");
    expect(db(pool).plan).not.toHaveProperty("findUniqueOrThrow");
  });
});
