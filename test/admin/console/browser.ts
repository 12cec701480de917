/** A browser at the console: it sends a cookie, and where a request is from. */
import { request as ask } from "node:http";
import { expect } from "vitest";
import type { Answered } from "../../support/answer.ts";

/** An answer to a browser. */
export interface BrowserAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  readonly json: Answered["json"];
}

/** A request. `body` is sent as JSON, or unchanged if it is text. A header of null is not sent. */
interface BrowserRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | null>>;
}

/** Sends a request as a page of this address does. */
export async function browse(
  address: string,
  { method = "GET", body, headers = {} }: BrowserRequest = {},
): Promise<BrowserAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<BrowserAnswer>();
  const own = { "Sec-Fetch-Site": "same-origin", "Connect-Protocol-Version": "1" };
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  const sent = Object.entries({ ...own, ...json, ...headers }).filter(([, text]) => text !== null);
  const asked = ask(address, {
    method,
    headers: Object.fromEntries(sent) as Record<string, string>,
  });
  asked.on("error", reject).on("response", (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    answer.on("end", () =>
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json: parse(text) }),
    );
  });
  asked.end(typeof body === "string" || body === undefined ? body : JSON.stringify(body));
  return promise;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Signs in, and returns the cookie as the browser sends it back. */
export async function signIn(adminUrl: string, credential: object): Promise<string> {
  const answer = await browse(`${adminUrl}/console/session`, { method: "POST", body: credential });
  expect(answer.status, answer.text).toBe(204);
  const [set = ""] = answer.headers["set-cookie"] ?? [];
  expect(set).toMatch(/^billing=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  return set.split(";")[0] ?? "";
}

/** Calls a method of the admin API, such as `SessionService/GetSession`, with a cookie. */
export function callWith(adminUrl: string, cookie: string) {
  return (method: string, body: object = {}, headers: BrowserRequest["headers"] = {}) =>
    browse(`${adminUrl}/billing.admin.v1.${method}`, {
      method: "POST",
      body,
      headers: { cookie, ...headers },
    });
}

/** The error code of an answer, by REST or by Connect. */
export function errorOf({ json }: BrowserAnswer): string {
  return json?.error?.code ?? json?.details?.[0]?.debug?.code ?? "none";
}
