/** The files that every page loads: the console's colours, type and mark, the style, the script. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { licenceText } from "../build/licences.ts";
import { packageFolders } from "../build/packages.ts";
import { assets } from "./layout.ts";
import type { SiteFile } from "./site.ts";

const font = "node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2";

/** The parts of the style, in the order in which later rules win. */
const style = ["page", "frame", "text", "reference", "wide", "narrow"].map(
  (part) => `tools/docs-site/style/${part}.css`,
);

/** Returns the files, with the licences of the packages in them. */
export function assetFiles(root: string): readonly SiteFile[] {
  const read = (path: string) => readFileSync(join(root, path));
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: ["tools/docs-site/page.js"],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    metafile: true,
    write: false,
  });
  return [
    { path: assets.tokens.slice(1), content: tokensOf(root) },
    { path: assets.style.slice(1), content: Buffer.concat(style.map(read)) },
    { path: assets.font.slice(1), content: read(font) },
    { path: assets.icon.slice(1), content: read("packages/console/src/icon.svg") },
    { path: assets.script.slice(1), content: outputFiles[0]?.text ?? "" },
    {
      path: "docs/licences.txt",
      content: licenceText(root, packageFolders([...Object.keys(metafile.inputs), font])),
    },
  ];
}

/**
 * The console chooses its colours by an attribute, which a script sets. Here they follow the
 * system.
 */
function tokensOf(root: string): string {
  const read = (name: string) =>
    readFileSync(join(root, "packages/console/src/design", name), "utf8");
  const [fallback] = /@font-face \{.*?\n\}/s.exec(read("base.css")) ?? [];
  const dark = /:root\[data-mantine-color-scheme="dark"\] (\{[^}]*\})/;
  const tokens = read("tokens.css");
  if (fallback === undefined || !dark.test(tokens))
    throw new Error("tools/docs-site/asset-files.ts does not know the console's style");
  const face = `@font-face {
  font-family: "Inter Variable";
  src: url("inter.woff2") format("woff2");
  font-weight: 100 900;
  font-display: swap;
}`;
  const colours = tokens.replace(dark, "@media (prefers-color-scheme: dark) {\n:root $1\n}");
  return `${face}\n\n${fallback}\n\n${colours}`;
}
