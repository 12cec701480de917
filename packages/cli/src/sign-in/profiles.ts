/**
 * Profiles: where an admin API is, and the token for it. One file, which only its owner can read.
 */
import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defaultUrl } from "../connection.ts";
import { UsageError } from "../failures.ts";

/** The environment, or a part of it. */
type Env = Readonly<Record<string, string | undefined>>;

/** A profile. */
export interface Profile {
  readonly url: string;
  readonly token: string;
  /** An organisation's id or name. */
  readonly organisation?: string;
}

/** The profile that is used unless another one is named. */
export const defaultProfile = "default";

/** Returns the file of the profiles, or null if there is no home folder. */
export function profilesFile({ XDG_CONFIG_HOME: config, HOME, USERPROFILE }: Env): string | null {
  const home = HOME || USERPROFILE;
  const folder = config || (home && join(home, ".config"));
  return folder ? join(folder, "subscription-billing", "profiles.json") : null;
}

/**
 * Reads the profiles by name. Throws `UsageError` if the file is malformed, or if others than its
 * owner can read it.
 */
export async function readProfiles(env: Env): Promise<Readonly<Record<string, Profile>>> {
  const file = profilesFile(env);
  const found = file === null ? null : await stat(file).catch(() => null);
  if (file === null || found === null) return {};
  if (process.platform !== "win32" && (found.mode & 0o077) !== 0)
    throw new UsageError(`${file} has tokens and others can read it: chmod 600 ${file}`);
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    throw new UsageError(`${file} is not JSON: sign in again after you have removed it`);
  }
}

/** Writes the profiles. Throws `UsageError` if there is no home folder. */
export async function writeProfiles(
  env: Env,
  profiles: Readonly<Record<string, Profile>>,
): Promise<string> {
  const file = profilesFile(env);
  if (file === null) throw new UsageError("There is no home folder: set XDG_CONFIG_HOME");
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}.part`;
  await writeFile(unfinished, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  await chmod(unfinished, 0o600);
  await rename(unfinished, file);
  return file;
}

/**
 * Returns the environment with the values of a profile where it has none. The token of a profile is
 * used for the address of that profile only. Throws `UsageError` if a named profile does not exist.
 */
export async function withProfile(env: Env, chosen: Chosen): Promise<Env> {
  const profiles = await readProfiles(env);
  const name = chosen.profile ?? (env.BILLING_PROFILE || defaultProfile);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined) {
    if (name === defaultProfile) return env;
    throw new UsageError(`There is no profile ${name}: billing login --profile ${name}`);
  }
  const address = (url: string) => url.replace(/\/+$/, "");
  const url = chosen.url ?? (env.BILLING_ADMIN_URL || profile.url);
  const hasToken = Boolean(env.BILLING_OPERATOR_TOKEN || env.BILLING_OPERATOR_TOKEN_FILE);
  const isItsAddress = address(url) === address(profile.url);
  return {
    ...env,
    BILLING_ADMIN_URL: url,
    ...(hasToken || !isItsAddress ? {} : { BILLING_OPERATOR_TOKEN: profile.token }),
    ...(isItsAddress && profile.organisation !== undefined
      ? { BILLING_ORGANISATION: env.BILLING_ORGANISATION || profile.organisation }
      : {}),
  };
}

/** The options that decide about the profile. */
interface Chosen {
  readonly profile?: string | undefined;
  readonly url?: string | undefined;
}

/** The address for a new profile. */
export function addressFor({ BILLING_ADMIN_URL: url }: Env, chosen: string | undefined): string {
  return chosen ?? (url || defaultUrl);
}
