/**
 * The demo ledger as a separate process: settings from the environment, one line once it listens, a
 * clean end on a signal.
 */
import { exitOnStopSignals, onStopSignal } from "../../../src/main/stop-signals.ts";

exitOnStopSignals();

// Loaded after this, so that a signal meanwhile ends the process well.
const { withSecrets } = await import("../../../src/main/settings/secret-files.ts");
const { xeroLimits } = await import("./api/limits.ts");
const { startDemoLedger } = await import("./server.ts");

// An unusual number that is probably free. `npm start` sets another one if needed.
const defaultPort = 4_010;

const databaseUrl = databaseUrlOf();
const port = Number(process.env.DEMO_LEDGER_PORT ?? defaultPort);

if (!databaseUrl) {
  end("DATABASE_URL is not set: the demo ledger keeps its documents in PostgreSQL.");
} else if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  end("DEMO_LEDGER_PORT is not a port.");
} else {
  try {
    const ledger = await startDemoLedger({
      databaseUrl,
      port,
      ...(process.env.DEMO_LEDGER_HOST ? { host: process.env.DEMO_LEDGER_HOST } : {}),
      faults: process.env.DEMO_LEDGER_FAULTS === "1",
      ...(process.env.DEMO_LEDGER_LIMITS === "xero" ? { limits: xeroLimits } : {}),
      log: (line) => console.error(JSON.stringify(line)),
    });
    console.log(JSON.stringify({ event: "listening", url: ledger.url, port: ledger.port }));
    onStopSignal(() => {
      onStopSignal(() => undefined);
      ledger.stop().then(
        () => process.exit(0),
        (error: Error) => end(error.message),
      );
    });
  } catch (error) {
    end(reasonOf(error));
  }
}

function databaseUrlOf(): string | undefined {
  try {
    return withSecrets(process.env, ["DATABASE_URL"]).DATABASE_URL;
  } catch (error) {
    return end(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  switch ("code" in error && error.code) {
    case "EADDRINUSE":
      return `Port ${port} is taken: set DEMO_LEDGER_PORT to another one.`;
    case "EACCES":
      return `Port ${port} may not be opened by this user: set DEMO_LEDGER_PORT to another one.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `DEMO_LEDGER_HOST=${process.env.DEMO_LEDGER_HOST} is no address of this machine.`;
    default:
      return error.message;
  }
}

function end(message: string): never {
  console.error(message);
  process.exit(1);
}
