/** What `npm start` without an option does for organisations that are connected to Tryton. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { aCall } from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { anyFreePort, localHost } from "../../../packages/dev/src/processes/ports.ts";
import { planOf } from "../../../packages/dev/src/stack-plan.ts";
import { startTrytonPart } from "../../../packages/dev/src/stack-servers.ts";
import { collectParts } from "../../../packages/dev/src/stack-settings.ts";
import { lockStartRecord } from "../../../packages/dev/src/start-record.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { addOrganisation } from "../../support/organisation-builder.ts";
import { tables } from "../../support/rows.ts";
import { credentialsOf, freshTryton, whyNoTryton } from "./tryton-fixture.ts";

databaseTest.skipIf(whyNoTryton !== null)(
  "a later start runs the Tryton that an organisation is connected to, unless it runs",
  async ({ database, pool, onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "later-start-"));
    const lines: string[] = [];
    const parts = collectParts((line) => lines.push(line));
    onTestFinished(async () => {
      await parts.stopAll();
      await rm(folder, { recursive: true, force: true });
    });
    const env = { ...process.env, DATA_FOLDER: folder };
    const record = await lockStartRecord(folder, () => undefined);
    const start = () =>
      startTrytonPart(planOf(env), { env, log: () => undefined, parts }, database.url, record);
    expect(await start()).toBeUndefined();

    const access = await freshTryton();
    const baseUrl = `http://${localHost}:${await anyFreePort()}`;
    await tables(pool).ledgerConnection.create({
      data: {
        organisationId: await addOrganisation(pool),
        ...{ kind: "tryton", tenantId: access.tenantId, baseUrl },
        ...{ identityUrl: "", clientId: "billing", encryptionKeyId: "none" },
        encryptedSecret: new Uint8Array([0]),
      },
    });
    expect((await start())?.url).toBe(baseUrl);
    const ledger = ledgers.tryton.connect(credentialsOf(access, baseUrl), {});
    expect(await ledger.describe(aCall())).toMatchObject({
      kind: "ok",
      value: { id: access.tenantId },
    });
    await ledger.close();
    expect(await start()).toBeUndefined();
    expect(lines).toEqual([expect.stringMatching(/^Tryton +127\.0\.0\.1/)]);
  },
);
