/**
 * The user that runs the embedded PostgreSQL. PostgreSQL refuses to run as root. So root runs it as
 * the system user `postgres`, which is created if it is missing.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The system user of PostgreSQL's own packages. It is used only if this process is root. */
const userName = "postgres";

/**
 * Lookups and user creation take milliseconds. A hanging directory service must not hang the start.
 */
const limitMs = 20_000;

/** Another user to run as, by number. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/** A program with its arguments and user, ready for `spawn`. */
interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: Partial<RunAs>;
}

/**
 * Returns undefined for an ordinary user, who runs PostgreSQL directly. For root it returns the
 * user `postgres`, created if it is missing.
 */
export async function findRunAs(): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const known = await lookUp();
  if (known) return known;
  try {
    await run(
      "useradd",
      ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", userName],
      {
        timeout: limitMs,
      },
    );
  } catch (cause) {
    // With two concurrent starts the other one may have created the user in the meantime.
    const created = await lookUp();
    if (created) return created;
    throw new Error(
      `PostgreSQL does not run as root, and the user ${userName} could not be created. ` +
        `Start as an ordinary user, create a system user named ${userName}, or set DATABASE_URL.`,
      { cause },
    );
  }
  const created = await lookUp();
  if (!created)
    throw new Error(
      `The user ${userName} was created but cannot be found. ` +
        "Start as an ordinary user, or set DATABASE_URL.",
    );
  return created;
}

async function lookUp(): Promise<RunAs | undefined> {
  try {
    const [uid, gid] = await Promise.all([
      run("id", ["-u", userName], { timeout: limitMs }),
      run("id", ["-g", userName], { timeout: limitMs }),
    ]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/**
 * Returns the command for that user. The user may not reach one of `paths`, such as a clone below
 * /root. Then it keeps only root's right to pass through folders. No foreign folder is opened.
 * Throws an Error with advice if neither works.
 */
export async function commandAs(
  runAs: RunAs | undefined,
  file: string,
  args: readonly string[],
  paths: readonly string[],
): Promise<Command> {
  if (runAs === undefined) return { file, args, options: {} };
  if (await reaches("/bin/sh", [], paths, runAs)) return { file, args, options: runAs };
  const keeping = [
    `--reuid=${runAs.uid}`,
    `--regid=${runAs.gid}`,
    "--clear-groups",
    "--inh-caps=-all,+dac_override",
    "--ambient-caps=-all,+dac_override",
    "--bounding-set=-all,+dac_override",
    // Without this, access() of another user ignores all of root's rights, and PostgreSQL looks up
    // its files that way.
    "--securebits=+no_setuid_fixup",
  ];
  if (await reaches("setpriv", [...keeping, "/bin/sh"], paths, {})) {
    return { file: "setpriv", args: [...keeping, file, ...args], options: {} };
  }
  throw new Error(
    `PostgreSQL does not run as root, and the user ${userName} ` +
      `may not reach ${paths.join(" or ")}. ` +
      "Move this folder to where other users may enter, start as an ordinary user, " +
      "or set DATABASE_URL.",
  );
}

async function reaches(
  shell: string,
  before: readonly string[],
  paths: readonly string[],
  options: Partial<RunAs>,
): Promise<boolean> {
  const test = ["-c", 'for path in "$@"; do test -r "$path" || exit 1; done', "sh", ...paths];
  return run(shell, [...before, ...test], { ...options, cwd: "/", timeout: limitMs }).then(
    () => true,
    () => false,
  );
}
