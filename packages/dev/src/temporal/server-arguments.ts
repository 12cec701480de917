/** The command line of the embedded Temporal dev server. */
import { localHost } from "../processes/ports.ts";

/**
 * The settings of `startTemporal`. Without `dataFile` nothing is kept. Without `uiPort` there is no
 * Web UI.
 */
export interface TemporalSettings {
  readonly dataFile?: string;
  readonly port: number;
  readonly uiPort?: number;
  readonly namespace: string;
  readonly searchAttributes: readonly string[];
  /** Further settings of the server, as `name=value`. */
  readonly dynamicConfig?: readonly string[];
  readonly log: (line: string) => void;
}

/**
 * A dev server has one history shard, which reads its queues at most 20 times a second by default.
 * Three reads a workflow then cost 150 ms. With these settings a workflow of one activity takes 34
 * ms. They are for the dev server only; a production cluster has 512 shards.
 */
const dynamicConfig = [
  "history.transferProcessorMaxPollRPS=2000",
  "history.timerProcessorMaxPollRPS=2000",
  "history.visibilityProcessorMaxPollRPS=200",
];

/**
 * The server's HTTP API has no credentials, accepts a web page's simple requests and cannot be
 * turned off. No part uses it, so its only accepted Host is one that no request can carry. This
 * machine's own names are refused too, because a page of another site sends those.
 */
const noHost = 'frontend.httpAllowedHosts=["no host at all"]';

/** Without a write-ahead log a file database halves the throughput. */
const pragmas = ["journal_mode=WAL", "synchronous=NORMAL"];

/** Ports that the server needs and that are not published. */
export interface InnerPorts {
  readonly http: number;
  readonly ui: number;
}

/** Returns the arguments that start the server over this file, reachable only from this machine. */
export function argumentsOf(
  dataFile: string | undefined,
  settings: TemporalSettings,
  inner: InnerPorts,
): string[] {
  const args = [
    "server",
    "start-dev",
    "--ip",
    localHost,
    "--port",
    String(settings.port),
    "--namespace",
    settings.namespace,
    "--http-port",
    String(inner.http),
  ];
  if (settings.uiPort === undefined) args.push("--headless");
  else args.push("--ui-port", String(inner.ui), "--ui-disable-news-fetch");
  if (dataFile !== undefined) args.push("--db-filename", dataFile);
  // The server accepts pragmas for a file only.
  if (dataFile !== undefined) for (const pragma of pragmas) args.push("--sqlite-pragma", pragma);
  const values = [...dynamicConfig, noHost, ...(settings.dynamicConfig ?? [])];
  for (const value of values) args.push("--dynamic-config-value", value);
  for (const name of settings.searchAttributes) args.push("--search-attribute", `${name}=Keyword`);
  return [...args, "--log-level", "error"];
}
