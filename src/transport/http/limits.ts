/** What a client may take of this process before it has shown a key. facts-performance §5.3, facts-stack "One port". */
import type { SlotLimits } from "./slots.ts";

/** The bounds of the port; tests shorten the times. */
export interface HttpLimits {
  /** From the connection to its first byte. Node's own clock starts only with the protocol, which that byte decides. */
  readonly firstByteMs: number;
  /** From a request's first byte to the end of its head. */
  readonly headersMs: number;
  /** From a request's first byte to the end of its body. */
  readonly requestMs: number;
  /** How often the two above and the slow-body rule are checked. */
  readonly checkEveryMs: number;
  /** A body may be slow for this long; after it, `slowestBytesPerSecond` on the average of the whole time. */
  readonly slowBodyAfterMs: number;
  readonly slowestBytesPerSecond: number;
  /** An HTTP/1.1 connection without a request. Above the 60 s that load balancers keep theirs, so that they close first. */
  readonly keepAliveMs: number;
  /** An HTTP/2 session on which nothing moves. Above the longest wait for an answer (15 s for the ledger). */
  readonly sessionIdleMs: number;
  /** A whole answer that its client has not read by then ends the connection: it is held in memory so long. */
  readonly unreadMs: number;
  /** All header fields of a request together, both versions. */
  readonly headerBytes: number;
  /** Open requests of one HTTP/2 session; Node's default is no limit. */
  readonly streamsPerSession: number;
  /** Connections at once: at some 30 KB each they stay below half a gigabyte. */
  readonly connections: number;
  /** Connections of one address that is no trusted proxy: ten of them are needed to take all. */
  readonly connectionsPerAddress: number;
  /**
   * What Node holds for one HTTP/2 session, unread answers included; streams beyond it are refused.
   * Node's default.
   */
  readonly sessionMegabytes: number;
  /**
   * How often the header blocks that a session had refused are counted: one costs half a
   * millisecond.
   */
  readonly headersCheckMs: number;
  /**
   * Refused header blocks after which a session is ended, if they are also more than its requests.
   */
  readonly refusedHeaders: number;
  /**
   * Unread bytes of all answers, also to valid keys: beyond it the connection that holds the most
   * is ended.
   */
  readonly unreadBytes: number;
  /**
   * Open requests that show no credentials. Clients that read their answers have a few, for
   * milliseconds.
   */
  readonly withoutCredentials: SlotLimits;
  /**
   * Open requests whose credentials have not been admitted yet: after a start that is everyone's
   * first request.
   */
  readonly unprovenCredentials: SlotLimits;
}

const mebibyte = 1_048_576;

/** Four mebibytes are 17 copies of the OpenAPI document, the largest answer that needs no key. */
const unreadOfStrangers = { perConnection: 4 * mebibyte, perAddress: 16 * mebibyte, total: 64 * mebibyte };

/** The limits of a server in service. */
export const defaultLimits: HttpLimits = {
  firstByteMs: 10_000,
  headersMs: 10_000,
  requestMs: 30_000,
  checkEveryMs: 1_000,
  slowBodyAfterMs: 5_000,
  slowestBytesPerSecond: 1_024,
  keepAliveMs: 65_000,
  sessionIdleMs: 60_000,
  unreadMs: 30_000,
  headerBytes: 16_384,
  streamsPerSession: 100,
  connections: 10_000,
  connectionsPerAddress: 1_000,
  sessionMegabytes: 10,
  headersCheckMs: 100,
  refusedHeaders: 100,
  unreadBytes: 256 * mebibyte,
  // An open request costs some 12 KB, so that all of them together stay below 50 MB.
  withoutCredentials: {
    perConnection: { count: 32, bytes: unreadOfStrangers.perConnection },
    perAddress: { count: 256, bytes: unreadOfStrangers.perAddress },
    total: { count: 2_048, bytes: unreadOfStrangers.total },
  },
  // One session may use all of its streams at its first moment.
  unprovenCredentials: {
    perConnection: { count: 100, bytes: unreadOfStrangers.perConnection },
    perAddress: { count: 512, bytes: unreadOfStrangers.perAddress },
    total: { count: 2_048, bytes: unreadOfStrangers.total },
  },
};
