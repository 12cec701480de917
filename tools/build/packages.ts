/** The packages whose code is in a build, by the files that a bundler has read. */

/** The folder of a package in the path of one of its files. */
const folderOf = /^(?:[^:]*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Returns the folders of the packages that these files are of, sorted, each once. */
export function packageFolders(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap((path) => folderOf.exec(path) ?? []))].sort();
}
