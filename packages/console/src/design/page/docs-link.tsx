/** Links to the documentation, which the API serves on another port. */

/** Returns the address of a page of the documentation. */
export function docsAddress(page: string): string {
  return `/docs/${page}`;
}
