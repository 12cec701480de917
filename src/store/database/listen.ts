/**
 * Listens to PostgreSQL's NOTIFY over one separate connection, because LISTEN needs a session. A
 * lost connection is opened again. What was notified in the meantime is lost, so a listener must
 * read the database as well.
 */
import pg from "pg";

/** How long a connection may take. */
const connectTimeoutMs = 3_000;

/** Delay before a lost connection is opened again. It spares a server that restarts. */
const reconnectMs = 500;

/** What is listened to. */
interface ListenerSettings {
  readonly databaseUrl: string;
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  /** The channel, a plain SQL name. */
  readonly channel: string;
  /** Receives the comma-separated parts of each payload. */
  readonly onPart: (part: string) => void;
  /** Called once the connection listens, at first and after each loss. */
  readonly onListening: () => void;
  readonly onError: (error: Error) => void;
}

/** Starts to listen. Resolves nothing: a database that is away is tried again. */
export function listen(settings: ListenerSettings) {
  const { databaseUrl, name, channel, onPart, onListening, onError } = settings;
  let closed = false;
  let client: pg.Client | null = null;
  const open = async (): Promise<void> => {
    if (closed) return;
    const next = new pg.Client({
      connectionString: databaseUrl,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
    });
    const lost = (error?: Error) => {
      if (client !== next) return;
      client = null;
      // It may be connected and useless, as with a standby that refuses LISTEN. Close it.
      void next.end().catch(() => undefined);
      if (error !== undefined) onError(error);
      setTimeout(open, reconnectMs).unref();
    };
    client = next;
    next.on("error", lost);
    next.on("end", () => lost());
    next.on("notification", ({ payload }) => {
      for (const part of (payload ?? "").split(",")) onPart(part);
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${channel}`);
    } catch (error) {
      lost(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    onListening();
  };
  void open();
  return {
    close: async (): Promise<void> => {
      closed = true;
      const last = client;
      client = null;
      await last?.end();
    },
  };
}
