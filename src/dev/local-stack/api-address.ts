/** Where the API that a start runs is reached from this machine, and whether it says that it is ready. */
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { localHost } from "./ports.ts";

/** A readiness check that is taken but never answered must not hang the start. */
const askLimitMs = 5_000;

/** Hosts that mean "every address of this machine". */
const everywhere = new Set(["0.0.0.0", "::", "[::]"]);

/** The host to listen and ask at: API_HOST, or this machine alone. */
export function apiHostOf(env: NodeJS.ProcessEnv): string {
  return env.API_HOST || localHost;
}

/** The base URL as seen from this machine; https where TLS_CERT_FILE is set. */
export function apiAddressOf(env: NodeJS.ProcessEnv, port: number): string {
  return addressOf(env, apiHostOf(env), port);
}

/** The same of the application's side, which listens at ADMIN_HOST. */
export function adminAddressOf(env: NodeJS.ProcessEnv, port: number): string {
  return addressOf(env, env.ADMIN_HOST || localHost, port);
}

function addressOf(env: NodeJS.ProcessEnv, host: string, port: number): string {
  return `${env.TLS_CERT_FILE ? "https" : "http"}://${everywhere.has(host) ? localHost : host}:${port}`;
}

/** True when /readyz answers 200. A certificate is not checked: it is for another name than the one asked here. */
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
