/**
 * Remembers which credentials were admitted, without holding them: a key stays in this process no
 * longer than its request. A cryptographic hash for each request would be a tenth of the gateway's
 * time.
 */
import { hash, randomBytes } from "node:crypto";

/** A credential's digest in two numbers. Each process has other digests. */
export interface CredentialDigest {
  readonly first: number;
  readonly second: number;
}

/** Longer credentials are hashed first. A key with its scheme has 64 characters. */
const longestSummed = 96;

/** A sum of 96 products of such a factor and a header's character, one byte, is exact (2^53). */
const factorBits = 38;

/** Secret, so that a credential with a given digest cannot be constructed. */
const factors = [randomFactors(), randomFactors()] as const;

function randomFactors(): Float64Array {
  return Float64Array.from({ length: longestSummed }, () =>
    Number(BigInt.asUintN(factorBits, randomBytes(8).readBigUInt64LE())),
  );
}

/**
 * Returns the digest of a header's value. It decides only which requests are limited, the gate
 * checks the key itself. Two different values have equal sums with a probability of 2^-38 each,
 * whatever the values are (universal hashing).
 */
export function digestOf(credential: string): CredentialDigest {
  if (credential.length > longestSummed) return digestOf(hash("sha256", credential, "base64"));
  const [ones, others] = factors;
  let first = 0;
  let second = 0;
  for (let at = 0; at < credential.length; at++) {
    const code = credential.charCodeAt(at);
    first += code * (ones[at] ?? 0);
    second += code * (others[at] ?? 0);
  }
  return { first, second };
}

/** The credentials that were admitted lately. */
interface ProvenCredentials {
  has(digest: CredentialDigest): boolean;
  /** Records that a request with these credentials was admitted. */
  add(digest: CredentialDigest): void;
  /** Records that they are invalid. */
  delete(digest: CredentialDigest): void;
}

/**
 * Keeps at least the `least` credentials that were used last, and at most twice as many. A use of
 * known credentials changes nothing, so it costs nothing.
 */
export function createProvenCredentials(least: number): ProvenCredentials {
  let recent = new Map<number, number>();
  let earlier = new Map<number, number>();
  const isIn = (digests: ReadonlyMap<number, number>, { first, second }: CredentialDigest) =>
    digests.get(first) === second;
  return {
    has: (digest) => isIn(recent, digest) || isIn(earlier, digest),
    add: (digest) => {
      if (isIn(recent, digest)) return;
      recent.set(digest.first, digest.second);
      if (recent.size < least) return;
      earlier = recent;
      recent = new Map();
    },
    delete: ({ first }) => {
      recent.delete(first);
      earlier.delete(first);
    },
  };
}
