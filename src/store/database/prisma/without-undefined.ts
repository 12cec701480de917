/** Leaves undefined members out of the arguments of the typed client, which refuses them. */

/** Removes undefined members. Those fields stay as they are, or take their defaults. */
export function withoutUndefined<T extends object>(
  members: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
