/** What a client may take of this process before it has shown a key (LIMIT-1, LIMIT-2). */
import type { SlotLimits } from "./slots.ts";

/** The bounds of the port. Tests shorten the times. */
export interface HttpLimits {
  /**
   * From the connection to its first byte. Node's own clock starts only once that byte has decided
   * the protocol.
   */
  readonly firstByteMs: number;
  /** From a request's first byte to the end of its head. */
  readonly headersMs: number;
  /** From a request's first byte to the end of its body. */
  readonly requestMs: number;
  /** How often the two times above and the slow-body rule are checked. */
  readonly checkEveryMs: number;
  /**
   * A body may be slow for this long. After it the average of the whole time must reach
   * `slowestBytesPerSecond`.
   */
  readonly slowBodyAfterMs: number;
  readonly slowestBytesPerSecond: number;
  /**
   * How long an HTTP/1.1 connection may have no request. It is above the 60 s of load balancers, so
   * that they close first.
   */
  readonly keepAliveMs: number;
  /**
   * How long an HTTP/2 session may be idle. It is above the longest wait for an answer (15 s for
   * the ledger).
   */
  readonly sessionIdleMs: number;
  /**
   * How long a whole answer may stay unread before the connection ends. The answer is in memory for
   * this time.
   */
  readonly unreadMs: number;
  /** Bytes of all header fields of a request together, for both versions. */
  readonly headerBytes: number;
  /** Open requests of one HTTP/2 session. Node's default is no limit. */
  readonly streamsPerSession: number;
  /**
   * Streams that a session may open while this process reads what has arrived, before it does
   * anything else. More than `streamsPerSession` means that the client has reset earlier ones.
   */
  readonly streamsPerBurst: number;
  /** Connections at once: at some 30 KB each they stay below half a gigabyte. */
  readonly connections: number;
  /**
   * Connections of one address that is not a trusted proxy. Ten such addresses are needed to take
   * all.
   */
  readonly connectionsPerAddress: number;
  /**
   * Megabytes that Node holds for one HTTP/2 session, unread answers included. Streams beyond it
   * are refused. Node's default.
   */
  readonly sessionMegabytes: number;
  /**
   * How often a session's refused header blocks are counted. One block costs half a millisecond.
   */
  readonly headersCheckMs: number;
  /** A session ends after this many refused header blocks, if they also outnumber its requests. */
  readonly refusedHeaders: number;
  /**
   * Unread bytes of all answers, also to valid keys. Beyond it the connection with the most is
   * ended.
   */
  readonly unreadBytes: number;
  /** Bytes of all request bodies with a valid key that have not arrived whole. */
  readonly bodyBytes: number;
  /** The same for one key. */
  readonly bodyBytesPerKey: number;
  /**
   * A body that holds no more than this is not counted. It costs no more than the open request.
   */
  readonly uncountedBodyBytes: number;
  /** A connection ends after this many refused requests. */
  readonly refusals: number;
  /** The time after which one of them is forgiven. */
  readonly refusalForgivenMs: number;
  /**
   * Open requests without credentials. Clients that read their answers have a few, for
   * milliseconds.
   */
  readonly withoutCredentials: SlotLimits;
  /**
   * Open requests whose credentials have not been admitted yet. After a start this is every
   * client's first request.
   */
  readonly unprovenCredentials: SlotLimits;
}

const mebibyte = 1_048_576;

/** Four mebibytes are 17 copies of the OpenAPI document, the largest answer that needs no key. */
const unreadOfStrangers = {
  perConnection: 4 * mebibyte,
  perAddress: 16 * mebibyte,
  total: 64 * mebibyte,
};

/** The limits of a server in production. */
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
  // A client whose calls all time out at once opens all of its streams a second time.
  streamsPerBurst: 200,
  connections: 10_000,
  connectionsPerAddress: 1_000,
  sessionMegabytes: 10,
  headersCheckMs: 100,
  refusedHeaders: 100,
  unreadBytes: 256 * mebibyte,
  // Memory for their rest takes as much again at most. An overloaded API process needs 400 MB of
  // the chart's 768.
  bodyBytes: 64 * mebibyte,
  // Eight bodies of the greatest size at once. A batch of a hundred usage events has some 20 KB.
  bodyBytesPerKey: 8 * mebibyte,
  // Calls other than large batches are below it, so no other key's bodies refuse them. A key's 120
  // requests of a minute hold less than two mebibytes in this way.
  uncountedBodyBytes: 16_384,
  // A client whose key was revoked may have all of its streams open, and repeat each of them.
  refusals: 200,
  // A probe or a client that tries again each second is never ended.
  refusalForgivenMs: 1_000,
  // An open request costs about 12 KB, so all of them together stay below 50 MB.
  withoutCredentials: {
    perConnection: { count: 32, bytes: unreadOfStrangers.perConnection },
    perAddress: { count: 256, bytes: unreadOfStrangers.perAddress },
    total: { count: 2_048, bytes: unreadOfStrangers.total },
  },
  // A session may use all of its streams at once from the start.
  unprovenCredentials: {
    perConnection: { count: 100, bytes: unreadOfStrangers.perConnection },
    perAddress: { count: 512, bytes: unreadOfStrangers.perAddress },
    total: { count: 2_048, bytes: unreadOfStrangers.total },
  },
};
