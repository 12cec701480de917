/**
 * The cache of organisations' meters: read once for each version of the catalogue, bounded in
 * organisations.
 */
import { expect, test } from "vitest";
import type { ReportableMeter } from "../../../src/domain/usage/ingest.ts";
import { createMeterCatalogue } from "../../../src/store/usage/ingest-facts.ts";

/** Reads one meter of each organisation, at the version that `versionOf` returns. */
function reading(versionOf: (organisationId: string) => string) {
  const read: string[] = [];
  const load = async (_tx: unknown, organisationId: string) => {
    read.push(organisationId);
    const version = versionOf(organisationId);
    const code = `at-${version}`;
    const id = `${organisationId}-meter`;
    const meter: ReportableMeter = { id, code, status: "active", plans: new Set(["plan"]) };
    return { version, metersById: new Map([[id, meter]]), metersByCode: new Map([[code, meter]]) };
  };
  return { read, catalogue: createMeterCatalogue(load), client: {} as never };
}

test("meters are read again once the catalogue has changed, and not before", async () => {
  let version = "1";
  const { read, catalogue, client } = reading(() => version);
  const codes = async (version: string) => [
    ...(await catalogue.meters(client, "own", version)).metersByCode.keys(),
  ];
  expect([await codes("1"), await codes("1")]).toEqual([["at-1"], ["at-1"]]);
  expect(read).toEqual(["own"]);
  version = "2";
  expect([await codes("2"), await codes("2")]).toEqual([["at-2"], ["at-2"]]);
  expect(read).toEqual(["own", "own"]);
});

test("an organisation knows its own meters alone, by id and by code", async () => {
  const { catalogue, client } = reading(() => "1");
  await catalogue.meters(client, "other", "1");
  const { metersById, metersByCode } = await catalogue.meters(client, "own", "1");
  const meter = { id: "own-meter", code: "at-1", status: "active", plans: new Set(["plan"]) };
  expect([[...metersById], [...metersByCode]]).toEqual([[["own-meter", meter]], [["at-1", meter]]]);
});

test("one organisation more than a thousand replaces the one that was read first", async () => {
  const { read, catalogue, client } = reading(() => "1");
  const ask = (number: number) => catalogue.meters(client, `organisation-${number}`, "1");
  for (let number = 0; number < 1_000; number += 1) await ask(number);
  await ask(0);
  expect(read).toHaveLength(1_000);
  await ask(1_000);
  await ask(1);
  expect(read).toHaveLength(1_001);
  await ask(0);
  expect(read.slice(1_001)).toEqual(["organisation-0"]);
});
