/** The facts that a process remembers, as the database would write them. */
import { expect, test } from "vitest";
import { createFactsCache } from "../../../src/store/usage/facts-cache.ts";
import { readFacts } from "../../../src/store/usage/ingest-facts.ts";

const [first, second] = [
  "018f0000-0000-7000-8000-000000000001",
  "018f0000-0000-7000-8000-000000000002",
];
const row = (id: string, period: number) =>
  `${id} plan active UTC 2026-01-01 1 month 1    ${period} 0 f ${700 + period}`;

test("facts are found with the newest versions of the catalogue and of each row", () => {
  const cache = createFactsCache();
  cache.remember("own", readFacts("own", `7;${row(first, 2)},${row(second, 3)}`));
  cache.remember("own", readFacts("own", `8;${row(second, 4)}`));
  const found = cache.find("own", [second, first]);
  expect(found?.catalogueVersion).toBe("8");
  expect(found?.subscriptions.get(second)).toMatchObject({ currentPeriod: 4, version: "704" });
  expect(found?.subscriptions.get(first)).toMatchObject({ currentPeriod: 2, version: "702" });
  expect(cache.find("own", [])?.subscriptions.size).toBe(0);
});

test("nothing is found for another organisation, or for a subscription not remembered", () => {
  const cache = createFactsCache();
  cache.remember("own", readFacts("own", `7;${row(first, 2)}`));
  cache.remember("other", readFacts("other", "1;"));
  expect(cache.find("other", [first])).toBeNull();
  expect(cache.find("own", [first, second])).toBeNull();
  expect(cache.find("none", [])).toBeNull();
});

test("the first one remembered is evicted first", () => {
  const cache = createFactsCache(1);
  cache.remember("own", readFacts("own", `7;${row(first, 2)}`));
  cache.remember("own", readFacts("own", `7;${row(second, 2)}`));
  expect(cache.find("own", [first])).toBeNull();
  expect(cache.find("own", [second])).not.toBeNull();
});
