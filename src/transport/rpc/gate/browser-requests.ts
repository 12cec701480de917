/**
 * What a request by cookie must have, so that no other site can send it: a name under which the
 * console is served, and the console's own page as its origin. The cookie's name and its flags
 * follow from the address. ADMIN-18.
 */
import { Refusal } from "../../../domain/refusal.ts";
import { hashApiKey } from "./api-key.ts";
import type { ReadHeader } from "./gate.ts";

/** How the console is served. */
export interface ConsoleSite {
  readonly isTls: boolean;
  /** The names under which it is served, without a port. */
  readonly hosts: ReadonlySet<string>;
}

/** The names of this machine. No other site can have them. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const hostForm = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/** 256 random bits. A token has another form. */
const valueForm = /^[\w-]{43}$/;

/** Returns the name without the port, or null if there is not one host. */
function hostNameOf(read: ReadHeader): string | null {
  const host = hostOf(read);
  return host === null ? null : (hostForm.exec(host)?.[1]?.toLowerCase() ?? null);
}

/** HTTP/2 has it in a field of its own. */
function hostOf(read: ReadHeader): string | null {
  const host = read(":authority") ?? read("host");
  return typeof host === "string" ? host : null;
}

/**
 * Refuses `untrusted_origin` unless the request comes from the console's own page. A browser that
 * does not say from where names the page's address at least.
 */
export function requireOwnPage({ hosts }: ConsoleSite, read: ReadHeader): void {
  const name = hostNameOf(read);
  if (name === null || !hosts.has(name)) {
    throw new Refusal(
      "untrusted_origin",
      `The console is not served as ${name ?? "this host"}: CONSOLE_HOSTS names its hosts`,
    );
  }
  const site = read("sec-fetch-site") ?? null;
  const isOwn = site === null ? originOf(read)?.host === hostOf(read) : site === "same-origin";
  if (isOwn) return;
  throw new Refusal("untrusted_origin", "The request did not come from the console's own page");
}

function originOf(read: ReadHeader): URL | null {
  const origin = read("origin");
  return typeof origin === "string" ? URL.parse(origin) : null;
}

/** Returns the address of the console's site as the browser has it, or null if it is not known. */
export function consoleOriginOf({ hosts }: ConsoleSite, read: ReadHeader): string | null {
  const origin = originOf(read);
  return origin !== null && hosts.has(origin.hostname) ? origin.origin : null;
}

/**
 * The cookie's name. Without https, which only this machine can do without, browsers refuse the
 * prefix, which holds a cookie to its host, to https and to the whole site.
 */
function cookieNameOf(site: ConsoleSite, read: ReadHeader): string {
  return isSecure(site, read) ? "__Host-billing" : "billing";
}

/** A proxy may speak https in front of a port that does not. */
function isSecure({ isTls }: ConsoleSite, read: ReadHeader): boolean {
  return isTls || !loopbackHosts.includes(hostNameOf(read) ?? "");
}

/** Returns the hash of the session's cookie, or null if none was sent. */
export function readSessionHash(site: ConsoleSite, read: ReadHeader): Buffer | null {
  // HTTP/2 may split the header.
  const sent = [read("cookie") ?? ""].flat().join(";");
  const name = cookieNameOf(site, read);
  const [value, ...more] = sent
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  // Two of one name are not ours: a page elsewhere on this machine set one.
  return value === undefined || more.length > 0 || !valueForm.test(value)
    ? null
    : hashApiKey(value);
}

/** Returns the header that sets the session's cookie, or that deletes it. */
export function sessionCookie(site: ConsoleSite, read: ReadHeader, value: string | null): string {
  const secure = isSecure(site, read) ? "; Secure" : "";
  const flags = `Path=/; HttpOnly; SameSite=Strict${secure}${value === null ? "; Max-Age=0" : ""}`;
  return `${cookieNameOf(site, read)}=${value ?? ""}; ${flags}`;
}
