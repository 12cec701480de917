/** A person in a browser: ticks tenants of the demo ledger and returns to our callback. */
import { expect } from "vitest";
import type { Tenant } from "../services/request.ts";

/**
 * Ticks tenants on the consent page and allows access, or denies it if there are none. Returns the
 * address to which the browser is redirected.
 */
export async function tickTenants(url: string, tenants: readonly Tenant[]): Promise<string> {
  const body = new URLSearchParams(
    tenants.map(({ tenantId }): [string, string] => ["tenant", tenantId]),
  );
  const answer = await fetch(url, { method: "POST", body, redirect: "manual" });
  expect(answer.status, await answer.text()).toBe(302);
  return answer.headers.get("location") ?? "";
}

/** Goes there: status and page, which nobody keeps. */
export async function comeBack(address: string): Promise<readonly [number, string]> {
  const answer = await fetch(address);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  return [answer.status, await answer.text()];
}

/** Asks the demo ledger about its apps: a command with a body, else a query. */
export async function askDemo(
  demoUrl: string,
  path: string,
  body: object | undefined,
): Promise<{ readonly refreshes: number }> {
  const sent = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`${demoUrl}/demo/${path}`, body === undefined ? {} : sent);
  expect(answer.ok, await answer.clone().text()).toBe(true);
  return (await answer.json()) as { refreshes: number };
}
