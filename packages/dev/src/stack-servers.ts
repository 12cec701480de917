/**
 * The servers of the stack, each with what it needs before a program uses it: PostgreSQL with the
 * migrations, and Temporal with the schedule.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sumEarlierUsage } from "../../../src/store/billing/usage-sums.ts";
import { migrate, withClient } from "../../../src/store/database/migrations/migrate.ts";
import { searchAttributes } from "../../../src/worker/temporal/search-attributes.ts";
import { startPostgres } from "./postgres/postgres.ts";
import { isListening, localHost } from "./processes/ports.ts";
import type { Counting } from "./progress-line.ts";
import type { StackPlan } from "./stack-plan.ts";
import type { Parts } from "./stack-settings.ts";
import type { LockedRecord } from "./start-record.ts";
import { findTemporalCli } from "./temporal/temporal-cli.ts";
import { startTemporal } from "./temporal/temporal-server.ts";
import { startTryton, type TrytonServer } from "./tryton/server.ts";

/** What both need of a start. */
interface ServerSettings {
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly parts: Parts;
}

/** Starts PostgreSQL unless DATABASE_URL replaces it, and migrates. Returns the database's URL. */
export async function startDatabase(plan: StackPlan, settings: ServerSettings): Promise<string> {
  const { log } = settings;
  const url = await databaseUrlOf(plan, settings);
  const began = performance.now();
  const applied = await migrate(url, { log });
  await sumEarlierUsage(url, log);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  log(`${"Migrations".padEnd(12)} ${applied.length} applied (${seconds} s)`);
  return url;
}

async function databaseUrlOf(
  plan: StackPlan,
  { env, log, parts }: ServerSettings,
): Promise<string> {
  const port = plan.postgresPort;
  if (port === undefined) return env.DATABASE_URL ?? "";
  const create = () => startPostgres({ dataFolder: plan.postgresFolder, port, log });
  const { url } = await parts.start("PostgreSQL", create, () => `${localHost}:${port}`);
  return url;
}

/** Temporal, with the settings that its clients get. `uiUrl` is undefined if it is external. */
interface TemporalPart {
  readonly uiUrl: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/** Starts Temporal unless TEMPORAL_ADDRESS replaces it, and creates or changes the schedule. */
export async function startTemporalPart(
  plan: StackPlan,
  settings: ServerSettings,
  lines: Counting,
): Promise<TemporalPart> {
  const temporal = await temporalOf(plan, settings, lines);
  // Loaded late, as Temporal's client is.
  const { setUpSchedule } = await import("./temporal/set-up-schedules.ts");
  await setUpSchedule({ ...settings.env, ...temporal.env }, settings.log);
  return temporal;
}

async function temporalOf(
  plan: StackPlan,
  { env, log, parts }: ServerSettings,
  lines: Counting,
): Promise<TemporalPart> {
  const { temporalPort: port, temporalUiPort: uiPort } = plan;
  if (port === undefined || uiPort === undefined) return { uiUrl: undefined, env: {} };
  // Found first and separately: building it can take minutes, and a stop must not wait for that.
  await findTemporalCli(lines, { env });
  // The SDK's default, so that `temporal workflow list` needs no option.
  const namespace = env.TEMPORAL_NAMESPACE || "default";
  const create = () =>
    startTemporal({ dataFile: plan.temporalFile, port, uiPort, namespace, searchAttributes, log });
  const { address, uiUrl } = await parts.start(
    "Temporal",
    create,
    (part) => `${part.address}, Web UI ${part.uiUrl}`,
  );
  const profile = join(plan.dataFolder, "temporal", "profile.toml");
  await writeFile(profile, "[profile.default]\n");
  const own = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_CONFIG_FILE: profile,
    TEMPORAL_UI_URL: env.TEMPORAL_UI_URL || uiUrl,
  };
  return { uiUrl, env: { ...withoutOthersTemporal(env), ...own } };
}

/**
 * Returns overrides that unset the Temporal credentials and profile of the environment. The
 * embedded server takes neither key nor TLS, so those settings are for another server.
 */
function withoutOthersTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.keys(env).filter((name) =>
    /^TEMPORAL_(API_KEY|TLS|PROFILE|GRPC_META|CLIENT_)/.test(name),
  );
  return Object.fromEntries(others.map((name) => [name, undefined]));
}

/**
 * Starts Tryton if the first data are to belong to one, or if an organisation is connected to one
 * of this machine whose books are in this PostgreSQL, unless that one runs.
 */
export async function startTrytonPart(
  plan: StackPlan,
  { env, log, parts }: ServerSettings,
  postgresUrl: string,
  record: LockedRecord,
): Promise<TrytonServer | undefined> {
  const connected = await connectedDatabases(postgresUrl);
  const port = plan.trytonPort ?? connected[0]?.port;
  if (port === undefined || (plan.trytonPort === undefined && (await isListening(port))))
    return undefined;
  const logFile = join(plan.logFolder, "tryton.log");
  let server: TrytonServer | undefined;
  const create = async () => {
    server = await startTryton({ env, postgresUrl, logFile, port, log });
    await record.add("Tryton", server.child.pid);
    return server.child;
  };
  await parts.start("Tryton", create, () => `${localHost}:${port}`);
  // Its first requests from the service may be two at once, of which Tryton fails one.
  for (const one of connected) if (one.port === port) await server?.openDatabase(one.name);
  return server;
}

/** The databases that connections lead to in a Tryton of this machine, with its port. */
async function connectedDatabases(
  postgresUrl: string,
): Promise<readonly { readonly name: string; readonly port: number }[]> {
  const text = `SELECT datname AS name, substring(base_url FROM '\\d+$')::integer AS port
    FROM ledger_connections JOIN pg_database ON datname = split_part(tenant_id, '/', 1)
    WHERE kind = 'tryton' AND disconnected_at IS NULL AND starts_with(base_url, $1)`;
  return withClient(postgresUrl, async (client) => {
    const found = await client.query<{ name: string; port: number }>(text, [
      `http://${localHost}:`,
    ]);
    return found.rows;
  });
}
