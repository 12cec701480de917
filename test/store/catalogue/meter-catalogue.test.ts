/** What is kept of organisations' meters: read once for each state of the catalogue, of so many organisations and no more. */
import { expect, test } from "vitest";
import { createMeterCatalogue } from "../../../src/store/usage/ingest-facts.ts";

/** A connection whose organisations have one meter each, at the version that `versionOf` says; it notes whose were read. */
function connection(versionOf: (organisationId: string) => string) {
  const read: string[] = [];
  const query = async ({ values: [organisationId] }: { readonly values: readonly [string] }) => {
    read.push(organisationId);
    const version = versionOf(organisationId);
    return {
      rows: [
        {
          version,
          id: `${organisationId}-meter`,
          code: `at-${version}`,
          status: "active",
          plans: ["plan"],
        },
      ],
    };
  };
  return { read, client: { query } as never };
}

test("meters are read again once the catalogue has changed, and not before", async () => {
  let version = "1";
  const { read, client } = connection(() => version);
  const catalogue = createMeterCatalogue();
  const codes = async (asked: string) => [
    ...(await catalogue.meters(client, "own", asked)).metersByCode.keys(),
  ];
  expect([await codes("1"), await codes("1")]).toEqual([["at-1"], ["at-1"]]);
  expect(read).toEqual(["own"]);
  version = "2";
  expect([await codes("2"), await codes("2")]).toEqual([["at-2"], ["at-2"]]);
  expect(read).toEqual(["own", "own"]);
});

test("an organisation knows its own meters alone, by id and by code", async () => {
  const { client } = connection(() => "1");
  const catalogue = createMeterCatalogue();
  await catalogue.meters(client, "other", "1");
  const { metersById, metersByCode } = await catalogue.meters(client, "own", "1");
  const meter = { id: "own-meter", code: "at-1", status: "active", plans: new Set(["plan"]) };
  expect([[...metersById], [...metersByCode]]).toEqual([[["own-meter", meter]], [["at-1", meter]]]);
});

test("a thousand organisations are kept; one more takes the place of the one that was read first", async () => {
  const { read, client } = connection(() => "1");
  const catalogue = createMeterCatalogue();
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
