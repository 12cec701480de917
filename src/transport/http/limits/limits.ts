/** What a client may take of this process before it has shown a key (LIMIT-1, LIMIT-2). */

const mebibyte = 1_048_576;

/** Four mebibytes are 17 copies of the OpenAPI document, the largest answer that needs no key. */
const unreadOfStrangers = {
  perConnection: 4 * mebibyte,
  perAddress: 16 * mebibyte,
  total: 64 * mebibyte,
};

/** The limits of a server in production. Tests shorten the times. */
export const defaultLimits = {
  /**
   * From the connection to its first byte. Node's own clock starts only once that byte has decided
   * the protocol.
   */
  firstByteMs: 10_000,
  /** From a request's first byte to the end of its head. */
  headersMs: 10_000,
  /** From a request's first byte to the end of its body. */
  requestMs: 30_000,
  /** How often the two times above and the slow-body rule are checked. */
  checkEveryMs: 1_000,
  /**
   * A body may be slow for this long. After it the average of the whole time must reach
   * `slowestBytesPerSecond`.
   */
  slowBodyAfterMs: 5_000,
  slowestBytesPerSecond: 1_024,
  /**
   * How long an HTTP/1.1 connection may have no request. It is above the 60 s of load balancers,
   * so that they close first.
   */
  keepAliveMs: 65_000,
  /**
   * How long an HTTP/2 session may be idle. It is above the longest wait for an answer (15 s for
   * the ledger).
   */
  sessionIdleMs: 60_000,
  /**
   * How long a whole answer may stay unread before the connection ends. The answer is in memory
   * for this time.
   */
  unreadMs: 30_000,
  /** Bytes of all header fields of a request together, for both versions. */
  headerBytes: 16_384,
  /** Open requests of one HTTP/2 session. Node's default is no limit. */
  streamsPerSession: 100,
  /**
   * Streams that a session may open while this process reads what has arrived, before it does
   * anything else. More than `streamsPerSession` means that the client has reset earlier ones. A
   * client whose calls all time out at once opens all of its streams a second time.
   */
  streamsPerBurst: 200,
  /** Connections at once: at some 30 KB each they stay below half a gigabyte. */
  connections: 10_000,
  /**
   * Connections of one address that is not a trusted proxy. Ten such addresses are needed to take
   * all.
   */
  connectionsPerAddress: 1_000,
  /**
   * How often a session's refused header blocks are counted. One block costs half a millisecond.
   */
  headersCheckMs: 100,
  /** A session ends after this many refused header blocks, if they also outnumber its requests. */
  refusedHeaders: 100,
  /**
   * Unread bytes of all answers, also to valid keys. Beyond it the connection with the most is
   * ended.
   */
  unreadBytes: 256 * mebibyte,
  /**
   * Bytes of all request bodies with a valid key that have not arrived whole. Memory for their
   * rest takes as much again at most. An overloaded API process needs 400 MB of the chart's 768.
   */
  bodyBytes: 64 * mebibyte,
  /**
   * The same for one key. Eight bodies of the greatest size at once. A batch of a hundred usage
   * events has some 20 KB.
   */
  bodyBytesPerKey: 8 * mebibyte,
  /**
   * A body that holds no more than this is not counted. It costs no more than the open request.
   * Calls other than large batches are below it, so no other key's bodies refuse them. A key's 120
   * requests of a minute hold less than two mebibytes in this way.
   */
  uncountedBodyBytes: 16_384,
  /**
   * A connection ends after this many refused requests. A client whose key was revoked may have
   * all of its streams open, and repeat each of them.
   */
  refusals: 200,
  /**
   * The time after which one of them is forgiven. A probe or a client that tries again each second
   * is never ended.
   */
  refusalForgivenMs: 1_000,
  /**
   * Open requests without credentials. Clients that read their answers have a few, for
   * milliseconds. An open request costs about 12 KB, so all of them together stay below 50 MB.
   */
  withoutCredentials: {
    perConnection: { count: 32, bytes: unreadOfStrangers.perConnection },
    perAddress: { count: 256, bytes: unreadOfStrangers.perAddress },
    total: { count: 2_048, bytes: unreadOfStrangers.total },
  },
  /**
   * Open requests whose credentials have not been admitted yet. After a start this is every
   * client's first request. A session may use all of its streams at once from the start.
   */
  unprovenCredentials: {
    perConnection: { count: 100, bytes: unreadOfStrangers.perConnection },
    perAddress: { count: 512, bytes: unreadOfStrangers.perAddress },
    total: { count: 2_048, bytes: unreadOfStrangers.total },
  },
};

/** The bounds of a port. */
export type HttpLimits = typeof defaultLimits;
