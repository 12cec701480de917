/**
 * The addresses at which this machine reaches the API of a start, and the check whether the API is
 * ready.
 */
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { localHost } from "./ports.ts";

/**
 * The limit of a readiness check. A check that is accepted but never answered must not hang the
 * start.
 */
const askLimitMs = 5_000;

/** Hosts that mean "every address of this machine". */
const everywhere = new Set(["0.0.0.0", "::", "[::]"]);

/** Returns the host to listen on and connect to: API_HOST, or only this machine. */
export function apiHostOf(env: NodeJS.ProcessEnv): string {
  return env.API_HOST || localHost;
}

/** Returns the base URL as seen from this machine. It is https if TLS_CERT_FILE is set. */
export function apiAddressOf(env: NodeJS.ProcessEnv, port: number): string {
  return addressOf(env, apiHostOf(env), port);
}

/** Returns the admin API's base URL. It listens on ADMIN_HOST. */
export function adminAddressOf(env: NodeJS.ProcessEnv, port: number): string {
  return addressOf(env, env.ADMIN_HOST || localHost, port);
}

function addressOf(env: NodeJS.ProcessEnv, host: string, port: number): string {
  const scheme = env.TLS_CERT_FILE ? "https" : "http";
  return `${scheme}://${everywhere.has(host) ? localHost : host}:${port}`;
}

/**
 * Returns true if /readyz answers 200. The certificate is not checked, because it is for another
 * name than the one used here.
 */
export function answersReady(baseUrl: string): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (response: IncomingMessage): void => {
      response.resume();
      resolve(response.statusCode === 200);
    };
    const url = `${baseUrl}/readyz`;
    const request = url.startsWith("https:")
      ? getHttps(url, { timeout: askLimitMs, rejectUnauthorized: false }, answer)
      : getHttp(url, { timeout: askLimitMs }, answer);
    request.on("error", () => resolve(false));
    request.on("timeout", () => request.destroy());
  });
}
