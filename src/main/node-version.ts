/** The oldest Node that runs these sources without a build: it strips the types of TypeScript. */
const oldest = [22, 18] as const;

/** Throws an Error with advice if `version`, as in `process.version`, is older than 22.18. */
export function assertNodeVersion(version: string): void {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return;
  throw new Error(
    `Node ${version} is too old: ${oldest.join(".")} or newer is needed. ` +
      "Start by npm, which brings its own: npm ci && npm start.",
  );
}
