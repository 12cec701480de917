/**
 * Reads the settings of Temporal. The library reads address, namespace, key and TLS, also from a
 * profile file. What it would accept in silence and use otherwise is a fault here: half a client
 * certificate, a profile file that is missing, and a word for TEMPORAL_TLS that it takes for
 * `false`.
 */
import { existsSync } from "node:fs";
import {
  type ClientConfigProfile,
  type ClientConfigTLS,
  loadClientConfigProfile,
  toClientOptions,
} from "@temporalio/envconfig";
import type { TemporalSettings } from "../../worker/temporal/connect.ts";
import { certificateOf, checkPair, type Pem, readPem } from "./pem.ts";
import {
  type OnFault,
  type SettingsReader,
  secretKey,
  secretKeysBefore,
  settingsReader,
} from "./read-settings.ts";
import { resolveSecrets } from "./secret-files.ts";

type Source = ClientConfigTLS["clientCert"];

/** Reads the settings. With a fault they are not to be used. */
export function readTemporalSettings(
  env: NodeJS.ProcessEnv,
  { attempt, text }: Pick<SettingsReader, "attempt" | "text">,
  onFault: OnFault,
): TemporalSettings {
  const filled = withoutEmpty(env);
  if (filled.TEMPORAL_TLS !== undefined && !/^(?:true|false|0|1)$/.test(filled.TEMPORAL_TLS))
    onFault(`TEMPORAL_TLS=${filled.TEMPORAL_TLS} must be one of true, false, 1, 0.`);
  const profile = readProfile(filled, onFault);
  let isUsable = true;
  checkTls(profile.tls, filled, (fault) => {
    isUsable = false;
    onFault(fault);
  });
  // Another character cannot be in a header, and the library's error would show the key.
  if (profile.apiKey !== undefined && !/^[\x21-\x7e]+$/.test(profile.apiKey))
    onFault("TEMPORAL_API_KEY has characters that no key has.");
  const { connectionOptions, namespace = "default" } = attempt({ connectionOptions: {} }, () =>
    toClientOptions(isUsable ? profile : {}),
  );
  const keyOf = (name: string) => attempt(null, () => secretKey(env, name));
  const buildId = env.TEMPORAL_WORKER_BUILD_ID;
  const name = text("TEMPORAL_DEPLOYMENT_NAME");
  if (/[.:]/.test(name)) onFault(`TEMPORAL_DEPLOYMENT_NAME=${name} must have no dot and no colon.`);
  return {
    connectionOptions,
    namespace,
    payloadKey: keyOf("TEMPORAL_PAYLOAD_KEY"),
    payloadKeysBefore: attempt([], () => secretKeysBefore(env, "TEMPORAL_PAYLOAD_KEYS_BEFORE")),
    deployment: buildId ? { name, buildId } : null,
  };
}

/** An empty setting counts as not set. Only for headers it means something: it removes one. */
function withoutEmpty(env: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (entry[1] !== "" || entry[0].startsWith("TEMPORAL_GRPC_META_")),
  );
  return Object.fromEntries(entries);
}

function readProfile(env: Record<string, string>, onFault: OnFault): ClientConfigProfile {
  const { TEMPORAL_CONFIG_FILE: path } = env;
  // The library would go on without it.
  if (path !== undefined && !existsSync(path)) {
    onFault(`TEMPORAL_CONFIG_FILE=${path} cannot be read.`);
    return {};
  }
  try {
    return loadClientConfigProfile({ overrideEnvVars: env });
  } catch (error) {
    const from = ["TEMPORAL_CONFIG_FILE", "TEMPORAL_PROFILE"]
      .filter((name) => env[name] !== undefined)
      .map((name) => `${name}=${env[name]}`)
      .join(", ");
    // The further lines of an error quote the file, which may have a key.
    const [why] = (error instanceof Error ? error.message : String(error)).split("\n");
    onFault(`The TEMPORAL_ settings${from === "" ? "" : ` (${from})`} cannot be read: ${why}`);
    return {};
  }
}

function checkTls(
  tls: ClientConfigTLS | undefined,
  env: Record<string, string>,
  onFault: OnFault,
): void {
  if (tls === undefined || tls.disabled === true) return;
  const { clientCert, clientKey, serverCACert } = tls;
  const nameOf = (part: string, source: Source) => settingOf(part, source, env);
  if (serverCACert !== undefined) {
    const ca = pemOf(nameOf("SERVER_CA_CERT", serverCACert), serverCACert, onFault);
    if (ca !== null) certificateOf(ca, onFault);
  }
  const [cert, key] = [nameOf("CLIENT_CERT", clientCert), nameOf("CLIENT_KEY", clientKey)];
  if (clientCert !== undefined && clientKey !== undefined)
    checkPair(pemOf(cert, clientCert, onFault), pemOf(key, clientKey, onFault), onFault);
  else if (clientCert !== undefined) onFault(`${cert} is set without ${key}.`);
  else if (clientKey !== undefined) onFault(`${key} is set without ${cert}.`);
}

/** Returns the name of the setting from which a source came, or the one that is missing. */
function settingOf(part: string, source: Source, env: Record<string, string>): string {
  const isText = source !== undefined && "data" in source;
  const name = `TEMPORAL_TLS_${part}_${isText ? "DATA" : "PATH"}`;
  const isOfProfile = source !== undefined && env[name] === undefined;
  return isOfProfile ? `${part.toLowerCase()} of the Temporal profile` : name;
}

function pemOf(name: string, source: NonNullable<Source>, onFault: OnFault): Pem | null {
  if ("path" in source) return readPem(name, source.path, onFault);
  const { data } = source;
  return { setting: name, text: typeof data === "string" ? data : Buffer.from(data).toString() };
}

const temporalSecrets = [
  "TEMPORAL_API_KEY",
  "TEMPORAL_PAYLOAD_KEY",
  "TEMPORAL_PAYLOAD_KEYS_BEFORE",
];

/**
 * Reads the settings of Temporal and the task queue, for programs that need no others, such as the
 * set-up of a deployment. Throws an Error with one line for each wrong one.
 */
export function readTemporalOnly(env: NodeJS.ProcessEnv) {
  const secrets = resolveSecrets(env, temporalSecrets);
  const faults = [...secrets.faults];
  const onFault = (fault: string) => void faults.push(fault);
  const reader = settingsReader(secrets.env, onFault);
  const temporal = readTemporalSettings(secrets.env, reader, onFault);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return { temporal, taskQueue: reader.text("TASK_QUEUE") };
}
