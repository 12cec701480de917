/** Reads the API by a key: objects and whole lists, each once. */
import { setTimeout as wait } from "node:timers/promises";

/** Why nothing can be checked, in words for a person. */
export class NotReadable extends Error {}

/** What the API shows. Undefined stands for what it does not find. */
export interface Api {
  text(path: string): Promise<string | undefined>;
  /** An object. It is read once, until `forget`. */
  get<T>(path: string): Promise<T | undefined>;
  /** All objects of a list, over its pages. It is read once, until `forget`. */
  list<T>(path: string): Promise<readonly T[] | undefined>;
  forget(): void;
}

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
}

const scopes = "catalogue:read, subscriptions:read, invoices:read and credit_notes:read";

/** How often and how long an answer 429 is waited out for one path. */
const maxWaits = 10;
const maxWaitSeconds = 60;

/** Returns the text of a path. Throws `NotReadable` for every answer but 200 and 404. */
async function readText(url: string, key: string, path: string): Promise<string | undefined> {
  for (let waits = 0; ; waits += 1) {
    const asked = fetch(url + path, { headers: { Authorization: `Bearer ${key}` } });
    const answer = await asked.catch((error: Error) => {
      throw new NotReadable(`${url} cannot be reached: ${error.cause ?? error}`);
    });
    const text = await answer.text();
    if (answer.ok) return text;
    if (answer.status === 404) return undefined;
    if (answer.status === 401) throw new NotReadable(`${url} does not know the API key (401)`);
    if (answer.status === 403)
      throw new NotReadable(`the API key may not read ${path} (403): it needs ${scopes}`);
    if (answer.status !== 429) throw new NotReadable(`${path} answered ${answer.status}: ${text}`);
    if (waits === maxWaits) throw new NotReadable(`${path} answered 429 too often`);
    const seconds = Number(answer.headers.get("Retry-After") ?? 1);
    await wait(1_000 * Math.min(seconds, maxWaitSeconds));
  }
}

/** Opens the API at a URL. */
export function openApi(url: string, key: string): Api {
  const known = new Map<string, Promise<unknown>>();
  const once = <T>(path: string, read: () => Promise<T>): Promise<T> => {
    const found = (known.get(path) as Promise<T> | undefined) ?? read();
    known.set(path, found);
    return found;
  };
  const text = (path: string) => readText(url, key, path);
  const parsed = async <T>(path: string): Promise<T | undefined> => {
    const found = await text(path);
    return found === undefined ? undefined : JSON.parse(found);
  };
  const pages = async (path: string) => {
    const all: Page["data"][number][] = [];
    for (let after = ""; ; after = `&starting_after=${all.at(-1)?.id}`) {
      const page = await parsed<Page>(`${path}?limit=100${after}`);
      if (page === undefined) return undefined;
      all.push(...page.data);
      if (!page.has_more) return all;
    }
  };
  return {
    text,
    get: (path) => once(path, () => parsed(path)),
    list: <T>(path: string) => once(path, () => pages(path)) as Promise<readonly T[] | undefined>,
    forget: () => known.clear(),
  };
}
