/**
 * Stands before the Temporal Web UI, which answers whatever name it is asked by. A page of another site can give its own name this
 * machine's address (DNS rebinding) and would then read every history and start workflows: by that name it is refused here.
 */
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { localHost } from "./ports.ts";

/** Names of this machine that no other site can have; the port is free, as a tunnel may have another. */
const ownHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/** Listens on `port` and passes on to `target`, a port of this machine, what this machine's own pages ask. */
export async function guardHosts(port: number, target: number): Promise<{ stop(): Promise<void> }> {
  const server = createServer((asked, answer) => {
    if (!isOwn(asked.headers)) {
      answer.writeHead(403, { "Content-Type": "text/plain" }).end("Open this by 127.0.0.1 or localhost.\n");
      return;
    }
    const { method, url: path, headers } = asked;
    const passed = request({ host: localHost, port: target, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.on("error", () => answer.destroy()).pipe(answer);
    });
    passed.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
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
  return (
    ownHost.test(host) && (origin === undefined || (origin.startsWith("http://") && ownHost.test(origin.slice(7))))
  );
}

/** A port of this machine that nothing listens on now. */
export async function anyFreePort(): Promise<number> {
  const server = createServer();
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((done, fail) => {
    server.once("error", fail).listen(port, localHost, () => {
      server.off("error", fail);
      done();
    });
  });
}
