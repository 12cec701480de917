/**
 * Permits of requests to endpoints: twenty in an organisation, and one for each endpoint in any
 * case.
 */
import { expect, test } from "vitest";
import {
  createRequestPermits,
  organisationRequestsAtOnce,
} from "../../../src/worker/activities/events/delivery-pace.ts";

test("an organisation has twenty permits, and an endpoint's first request needs none", () => {
  const permits = createRequestPermits();
  const taken = Array.from({ length: 20 }, () => permits.take("own", false));
  expect(organisationRequestsAtOnce).toBe(20);
  expect(taken.every((permit) => permit !== null)).toBe(true);
  expect(permits.take("own", false)).toBeNull();
  const first = permits.take("own", true);
  expect(first).not.toBeNull();
  expect(permits.take("other", false)).not.toBeNull();
  taken[0]?.();
  expect(permits.take("own", false)).toBeNull();
  first?.();
  expect(permits.take("own", false)).not.toBeNull();
  expect(permits.take("own", false)).toBeNull();
});
