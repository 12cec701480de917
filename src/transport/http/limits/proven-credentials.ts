/**
 * Remembers which credentials were admitted, by their SHA-256: a key stays in this process no
 * longer than its request.
 */
import { hash } from "node:crypto";

/** The credentials that were admitted lately. They are known by their digests. */
interface ProvenCredentials {
  has(digest: string): boolean;
  /** Records that a request with these credentials was admitted. */
  add(digest: string): void;
  /** Records that they are invalid. */
  delete(digest: string): void;
}

/** Returns the digest of a header's value. */
export function digestOf(credential: string): string {
  return hash("sha256", credential, "base64");
}

/** Keeps the `max` credentials that were admitted last. */
export function createProvenCredentials(max: number): ProvenCredentials {
  /** In the order of their last admission. */
  const digests = new Set<string>();
  return {
    has: (digest) => digests.has(digest),
    add: (digest) => {
      digests.delete(digest);
      digests.add(digest);
      if (digests.size <= max) return;
      const [oldest] = digests;
      if (oldest !== undefined) digests.delete(oldest);
    },
    delete: (digest) => void digests.delete(digest),
  };
}
