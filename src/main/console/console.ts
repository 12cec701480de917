/** The console at `/console` on the admin port: its pages, its sign-in, and what its gate needs. */
import { consoleFolder } from "../../assets.ts";
import type { Config } from "../../config.ts";
import type { OperatorAccess } from "../../store/access/operator-tokens.ts";
import type { SessionStore } from "../../store/admin/console/console-sessions.ts";
import { clientAddresses } from "../../transport/http/limits/client-addresses.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";
import { respond } from "../../transport/rest/respond.ts";
import type { ConsoleSite } from "../../transport/rpc/gate/browser-requests.ts";
import { createReportError, type LogFailure } from "../../transport/rpc/refusals.ts";
import { isBrowser } from "../api/docs-pages.ts";
import { consolePages } from "./console-pages.ts";
import { sessionAnswer } from "./session-endpoint.ts";

/** How the console is served, or null if it is switched off. */
export function consoleSiteOf({ admin, api }: Config): ConsoleSite | null {
  return admin.consoleHosts === null
    ? null
    : { isTls: api.tls !== null, hosts: admin.consoleHosts };
}

/** The dependencies of the console. */
interface ConsoleParts {
  readonly config: Config;
  readonly site: ConsoleSite;
  readonly access: OperatorAccess;
  readonly sessions: SessionStore;
  readonly logFailure: LogFailure;
}

/** Returns the answer of the port: the console's paths, and `rest` for all others. */
export function withConsole(parts: ConsoleParts, rest: HttpAnswer): HttpAnswer {
  const pages = consolePages(consoleFolder());
  const addressOf = clientAddresses(parts.config.api.trustedProxies);
  const reportError = createReportError(parts.logFailure);
  const session = sessionAnswer({ ...parts, addressOf, reportError });
  return (request, response, exchange) => {
    const { path } = exchange;
    const isRead = request.method === "GET";
    const isSession =
      path === "/console/session" && ["POST", "DELETE"].includes(request.method ?? "");
    const isPage = isRead && (path === "/console" || path.startsWith("/console/"));
    const isHome = isRead && path === "/" && isBrowser(request);
    if (!isSession && !isPage && !isHome) return rest(request, response, exchange);
    exchange.protocol = null;
    if (isSession) return session(request, response, exchange);
    if (isPage) return pages(request, response, exchange);
    const headers = { "Request-Id": exchange.requestId, Location: "/console" };
    respond(request, response, 303, headers, "");
  };
}
