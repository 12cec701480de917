/** A real Prometheus on loopback that scrapes running processes each second. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./ports.ts";
import { findPrometheusProgram } from "./promtool.ts";
import { until } from "./until.ts";

/** What it scrapes, and which rules it evaluates. */
export interface PrometheusSettings {
  /** The base URL of the port with `/metrics`, by the name of the job. */
  readonly jobs: Readonly<Record<string, string>>;
  readonly rulesFile: string;
}

/** A rule as the server evaluated it last. */
export interface EvaluatedRule {
  readonly name: string;
  /** `unknown` before its first evaluation. */
  readonly health: "ok" | "err" | "unknown";
  readonly lastError?: string;
}

/** A running server. */
export interface RunningPrometheus {
  /** Returns the series of a query's result, at this moment. Rejects if the query is wrong. */
  query(expr: string): Promise<readonly unknown[]>;
  rules(): Promise<readonly EvaluatedRule[]>;
  stop(): Promise<void>;
}

interface QueryResult {
  readonly result: readonly unknown[];
}

interface EvaluatedGroups {
  readonly groups: readonly { readonly rules: readonly EvaluatedRule[] }[];
}

/** Starts it, or returns null and prints why where it cannot be had. */
export async function startPrometheus(
  settings: PrometheusSettings,
): Promise<RunningPrometheus | null> {
  const program = await findPrometheusProgram("prometheus");
  if (program === null) return null;
  const folder = await mkdtemp(join(tmpdir(), "prometheus-"));
  const file = join(folder, "prometheus.json");
  await writeFile(file, JSON.stringify(configurationOf(settings)));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    program,
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
      "--log.level=warn",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const gone = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await gone;
    await rm(folder, { recursive: true, force: true });
  };
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://${address}/api/v1/${path}`);
    const { status, error, data } = JSON.parse(await answer.text());
    if (status !== "success") throw new Error(`${path}: ${error}`);
    return data as T;
  };
  await until("Prometheus is ready", () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    query: async (expr) => {
      const { result } = await get<QueryResult>(`query?query=${encodeURIComponent(expr)}`);
      return result;
    },
    rules: async () => {
      const { groups } = await get<EvaluatedGroups>("rules");
      return groups.flatMap((group) => group.rules);
    },
    stop,
  };
}

/** YAML, of which JSON is a part. */
function configurationOf({ jobs, rulesFile }: PrometheusSettings): object {
  return {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rulesFile],
    scrape_configs: Object.entries(jobs).map(([name, url]) => ({
      job_name: name,
      static_configs: [{ targets: [new URL(url).host] }],
    })),
  };
}
