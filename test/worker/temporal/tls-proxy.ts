/**
 * A TLS server in front of the Temporal dev server, which has no TLS itself. It stands for a
 * server of mutual TLS, and for Temporal Cloud with its API keys: it reads each call's headers and
 * passes the call on.
 */
import {
  type ClientHttp2Session,
  connect,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { temporalTls } from "./temporal-tls-fixture.ts";

/** What the server wants of a client. Null wants nothing of that kind. */
export interface TlsProxySettings {
  readonly apiKey: string | null;
  readonly wantsCertificate: boolean;
}

/** The running server. `calls` counts what was passed on. */
export interface TlsProxy {
  readonly address: string;
  calls(): number;
  stop(): Promise<void>;
}

/** gRPC's code for a call without valid credentials. */
const unauthenticated = "16";

/** Starts the server in front of the Temporal server at `address`. */
export async function startTlsProxy(
  address: string,
  { apiKey, wantsCertificate }: TlsProxySettings,
): Promise<TlsProxy> {
  let passed = 0;
  const sessions = new Set<ServerHttp2Session>();
  const upstream = connect(`http://${address}`, { settings: { enablePush: false } });
  const server = createSecureServer({
    cert: temporalTls.serverCert,
    key: temporalTls.serverKey,
    ca: temporalTls.authority,
    requestCert: wantsCertificate,
    rejectUnauthorized: wantsCertificate,
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    // A client that refuses the certificate ends the connection with an error.
    session.on("error", () => undefined);
  });
  server.on("stream", (stream, headers) => {
    const { authorized } = stream.session?.socket as TLSSocket;
    const isKnown = apiKey === null || headers.authorization === `Bearer ${apiKey}`;
    if (!isKnown || (wantsCertificate && !authorized)) return refuse(stream);
    passed += 1;
    passOn(stream, headers, upstream);
  });
  const port = await listen(server);
  return {
    address: `127.0.0.1:${port}`,
    calls: () => passed,
    stop: async () => {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(stream: ServerHttp2Stream): void {
  const status = { "grpc-status": unauthenticated, "grpc-message": "Request unauthorized." };
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", ...status },
    { endStream: true },
  );
}

function passOn(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  upstream: ClientHttp2Session,
): void {
  const call = upstream.request({ ...headers, ":scheme": "http" });
  let trailers: IncomingHttpHeaders = {};
  call.on("response", (answer, flags) => {
    // 1 is END_STREAM: an answer of headers alone.
    if ((flags & 1) === 1) return stream.respond(answer, { endStream: true });
    stream.respond(answer, { waitForTrailers: true });
    call.pipe(stream);
  });
  call.on("trailers", (last) => {
    trailers = last;
  });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.pipe(call);
  stream.once("close", () => call.close());
  for (const each of [stream, call]) each.on("error", () => each.destroy());
}

function listen(server: Http2SecureServer): Promise<number> {
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
}
