/**
 * A proxy in front of the Temporal Web UI, which answers any Host. By DNS rebinding a page of
 * another site reaches this machine under the site's own name. It could read every history and
 * start workflows. The proxy refuses every name except this machine's own.
 */
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import { localHost } from "../processes/ports.ts";

/**
 * The names that no other site can have. Any port is accepted, because a tunnel may use another.
 */
const ownHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/** Listens on `port` and forwards the requests of this machine's own pages to the port `target`. */
export async function guardHosts(port: number, target: number): Promise<{ stop(): Promise<void> }> {
  const server = createServer((incoming, answer) => {
    if (!isOwn(incoming.headers)) {
      answer.writeHead(403).end("Open this page by 127.0.0.1 or localhost.\n");
      return;
    }
    const { method, url: path, headers } = incoming;
    const passed = request({ host: localHost, port: target, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.on("error", () => answer.destroy()).pipe(answer);
    });
    passed.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await listen(server, port);
  return {
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function isOwn({ host = "", origin }: IncomingHttpHeaders): boolean {
  if (!ownHost.test(host)) return false;
  return origin === undefined || (origin.startsWith("http://") && ownHost.test(origin.slice(7)));
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    server.once("error", fail).listen(port, localHost, () => {
      server.off("error", fail);
      done();
    });
  });
}
