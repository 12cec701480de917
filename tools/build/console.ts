/**
 * Builds the console (`packages/console`) into a folder: hashed files, each beside its compressed
 * forms, and the licences of the packages whose code is in it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { licenceText } from "./licences.ts";
import { packageFolders } from "./packages.ts";

/** Small files do not become smaller, and fonts are compressed already. */
const compressed = /\.(?:js|css|svg)$/;

/**
 * Builds the repository's console into `folder`, which is emptied first. Returns the folders of the
 * packages whose code is in it.
 */
export async function buildConsole(root: string, folder: string): Promise<readonly string[]> {
  // A test's would put the library's checks for developers into the page.
  process.env.NODE_ENV = "production";
  const configFile = join(root, "packages/console/vite.config.ts");
  const built = await build({
    configFile,
    logLevel: "warn",
    build: { outDir: folder, reportCompressedSize: false },
  });
  const { output } = built as Rolldown.RolldownOutput;
  const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  const bundled = packageFolders(modules.map((path) => relative(root, path)));
  writeFileSync(join(folder, "licences.txt"), licenceText(root, bundled));
  for (const { parentPath, name } of readdirSync(folder, {
    recursive: true,
    withFileTypes: true,
  })) {
    if (!compressed.test(name)) continue;
    const path = join(parentPath, name);
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
  return bundled;
}
