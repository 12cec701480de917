/**
 * The single port of REST, Connect, gRPC-Web and gRPC, over HTTP/1.1 and HTTP/2, in cleartext or
 * TLS. It bounds what slow and greedy clients can take, and drains before it closes.
 */
import { createServer as createHttp1Server } from "node:http";
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import type { BlockList, Server, Socket } from "node:net";
import type { HttpRequest, HttpResponse } from "../rest/exchange.ts";
import type { RequestLine } from "../rpc/observe.ts";
import type { LogFailure } from "../rpc/refusals.ts";
import { exchanges, type Within } from "./exchanges.ts";
import { clientAddresses, limitConnections } from "./limits/client-addresses.ts";
import { watchKeylessRequests } from "./limits/keyless-requests.ts";
import { defaultLimits, type HttpLimits } from "./limits/limits.ts";
import { watchRefusedHeaders } from "./limits/refused-headers.ts";
import { limitRefusedRequests } from "./limits/refused-requests.ts";
import { watchSlowBodies } from "./limits/slow-request-bodies.ts";
import { watchUnreadAnswers } from "./limits/stalled-responses.ts";
import { limitStreamBursts } from "./limits/stream-bursts.ts";
import { countUnfinishedBodies } from "./limits/unfinished-bodies.ts";
import { listen, type WantedPort } from "./listen.ts";
import { peekProtocol } from "./protocol-peek.ts";
import { refuseSocket, statusOfSocketError } from "./refuse-socket.ts";
import { type HttpAnswer, type SystemEndpoints, systemEndpoints } from "./system-endpoints.ts";

/** The port, its handlers and its settings. */
export interface HttpParts extends SystemEndpoints, WantedPort {
  /** Key and certificate chain in PEM. Null serves cleartext. */
  readonly tls: { readonly key: string; readonly cert: string } | null;
  /** Answers everything under `/v1`, and unknown paths with 404. */
  readonly rest: HttpAnswer;
  /**
   * Answers `/package.Service/Method`: Connect, gRPC and gRPC-Web. `exchangeOf(request)` returns
   * the exchange with its id.
   */
  readonly connect: (request: HttpRequest, response: HttpResponse) => void;
  /** Called once for every finished request except probes. */
  readonly log: (line: RequestLine) => void;
  /** Called for an error that a handler did not catch. The client gets `internal_error`. */
  readonly logFailure: LogFailure;
  /** Surrounds the handling of each request. */
  readonly within?: Within;
  readonly limits?: Partial<HttpLimits>;
  /** Addresses that many clients share. No limit by address applies to them. */
  readonly trustedProxies: BlockList;
  /** Called for each connection that is refused because its address holds too many. */
  readonly onConnectionLimit: (address: string) => void;
}

/** The open port. */
export interface HttpPort {
  readonly port: number;
  /**
   * Accepts no more connections, asks clients to leave (`Connection: close`, GOAWAY) and lets open
   * requests finish. After `graceMs` it ends the remaining connections. Resolves when every
   * connection is closed.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/** Opens the port. Rejects with an error that names the setting if another process has the port. */
export async function startHttp(parts: HttpParts): Promise<HttpPort> {
  const limits = { ...defaultLimits, ...parts.limits };
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let draining = false;

  const slowBodies = watchSlowBodies(limits, (socket) => refuseSocket(socket, 408));
  const unreadAnswers = watchUnreadAnswers(limits);
  const refusedHeaders = watchRefusedHeaders(limits);
  const limitBursts = limitStreamBursts(limits);
  const addressOf = clientAddresses(parts.trustedProxies);
  const keyless = watchKeylessRequests(limits, addressOf, limitRefusedRequests(limits));
  const systemAnswers = systemEndpoints(parts);
  const holdBodies = countUnfinishedBodies(limits);
  const watches = { slowBodies, unreadAnswers, holdBodies, keyless };
  const onRequest = exchanges({ ...parts, systemAnswers, ...watches, isDraining: () => draining });
  const onSession = (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    refusedHeaders.watch(session);
    limitBursts(session);
  };
  const server =
    parts.tls === null
      ? cleartextServer(limits, onRequest, onSession)
      : tlsServer(limits, parts.tls, onRequest, onSession);
  server.maxConnections = limits.connections;
  const admit = limitConnections(addressOf, limits.connectionsPerAddress, parts.onConnectionLimit);
  takeConnections(server, admit, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const port = await listen(server, parts);

  return {
    port,
    stop: ({ graceMs }) => {
      draining = true;
      slowBodies.stop();
      unreadAnswers.stop();
      refusedHeaders.stop();
      return drain(server, sockets, sessions, graceMs);
    },
  };
}

type OnRequest = (request: HttpRequest, response: HttpResponse, awaitsContinue: boolean) => void;
type OnSession = (session: ServerHttp2Session) => void;

function http1Options(limits: HttpLimits) {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node's own refusal would have neither an id nor a body, so `exchanges` refuses instead.
    requireHostHeader: false,
  };
}

function http2Options(limits: HttpLimits) {
  return {
    settings: {
      maxConcurrentStreams: limits.streamsPerSession,
      maxHeaderListSize: limits.headerBytes,
    },
    // A client that repeatedly breaks the protocol or opens refused streams is disconnected. Node's
    // default is 1,000.
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
  };
}

/**
 * The HTTP/1.1 server listens, so that its own clocks run. A connection with the HTTP/2 preface is
 * handed to the other server, which never listens.
 */
function cleartextServer(limits: HttpLimits, onRequest: OnRequest, onSession: OnSession): Server {
  const http1 = createHttp1Server(http1Options(limits));
  const http2 = createHttp2Server(http2Options(limits));
  serve(http1, limits, onRequest, onSession);
  serve(http2, limits, onRequest, onSession);
  const takeHttp1 = removeConnectionListeners(http1);
  http1.on("connection", (socket: Socket) =>
    peekProtocol(socket, limits, takeHttp1, (known) => http2.emit("connection", known)),
  );
  return http1;
}

/** Returns a function that calls the removed listeners. */
function removeConnectionListeners(server: Server): (socket: Socket) => void {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  server.removeAllListeners("connection");
  return (socket) => {
    for (const take of listeners) take.call(server, socket);
  };
}

/** Closes a connection that is not admitted, before anything reads from it. */
function takeConnections(
  server: Server,
  admit: (socket: Socket) => boolean,
  onSocket: (socket: Socket) => void,
): void {
  const take = removeConnectionListeners(server);
  server.on("connection", (socket: Socket) => {
    if (!admit(socket)) return void socket.destroy();
    onSocket(socket);
    take(socket);
  });
}

/** TLS negotiates the protocol by ALPN, so one server serves both versions. */
function tlsServer(
  limits: HttpLimits,
  tls: { readonly key: string; readonly cert: string },
  onRequest: OnRequest,
  onSession: OnSession,
): Http2SecureServer {
  const server = createSecureServer({
    ...http1Options(limits),
    ...http2Options(limits),
    ...tls,
    allowHTTP1: true,
    minVersion: "TLSv1.2",
    handshakeTimeout: limits.firstByteMs,
  });
  serve(server, limits, onRequest, onSession);
  // This server accepts its HTTP/1.1 clocks only as members.
  return Object.assign(server, {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
  });
}

function serve(
  server: Server | Http2Server | Http2SecureServer,
  limits: HttpLimits,
  onRequest: OnRequest,
  onSession: OnSession,
): void {
  server.on("request", (request: HttpRequest, response: HttpResponse) =>
    onRequest(request, response, false),
  );
  server.on("checkContinue", (request: HttpRequest, response: HttpResponse) =>
    onRequest(request, response, true),
  );
  server.on("checkExpectation", (request: HttpRequest, response: HttpResponse) =>
    onRequest(request, response, false),
  );
  server.on("clientError", (error: Error, socket: Socket) =>
    refuseSocket(socket, statusOfSocketError(error)),
  );
  server.on("session", (session: ServerHttp2Session) => {
    onSession(session);
    session.setTimeout(limits.sessionIdleMs, () => session.close());
  });
}

async function drain(
  server: Server,
  sockets: Iterable<Socket>,
  sessions: Iterable<ServerHttp2Session>,
  graceMs: number,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  server.close(() => resolve());
  // A connection that has not sent its first byte has nothing that could be lost.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  for (const session of sessions) session.close();
  await promise;
  clearTimeout(timer);
}
