/**
 * Binds functions of the store to the arguments that all of them begin with, such as a pool and an
 * organisation.
 */
export function binding<First extends readonly unknown[]>(...first: First) {
  return <Rest extends readonly unknown[], Result>(
    work: (...args: [...First, ...Rest]) => Result,
  ) =>
    (...rest: Rest): Result =>
      work(...first, ...rest);
}
