/** Reads TLS_CERT_FILE and TLS_KEY_FILE: the certificate and key of both ports. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

/** A certificate chain and its key, in PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Returns the pair, or null if neither file is set. Throws for one alone and for a wrong pair. */
export function tlsFiles(env: NodeJS.ProcessEnv): TlsPair | null {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = env;
  if (!certFile && !keyFile) return null;
  if (!certFile) throw new Error("TLS_KEY_FILE is set without TLS_CERT_FILE.");
  if (!keyFile) throw new Error("TLS_CERT_FILE is set without TLS_KEY_FILE.");
  const tls = {
    cert: readSetting("TLS_CERT_FILE", certFile),
    key: readSetting("TLS_KEY_FILE", keyFile),
  };
  assertPair(tls.cert, tls.key, certFile, keyFile);
  return tls;
}

/**
 * Throws for a pair that TLS would refuse later with an error that names no setting. The key itself
 * is never shown.
 */
function assertPair(cert: string, key: string, certFile: string, keyFile: string): void {
  const chain = orThrow(
    `TLS_CERT_FILE=${certFile} is no certificate in PEM.`,
    () => new X509Certificate(cert),
  );
  const message = `TLS_KEY_FILE=${keyFile} is no private key in PEM without a passphrase.`;
  const privateKey = orThrow(message, () => createPrivateKey(key));
  if (!chain.checkPrivateKey(privateKey)) {
    throw new Error(
      `TLS_KEY_FILE=${keyFile} is not the key of the first certificate in ` +
        `TLS_CERT_FILE=${certFile}.`,
    );
  }
  orThrow(`TLS_CERT_FILE=${certFile} and TLS_KEY_FILE=${keyFile} cannot be used for TLS.`, () =>
    createSecureContext({ cert, key }),
  );
}

function orThrow<T>(message: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new Error(message, { cause });
  }
}

function readSetting(name: string, path: string): string {
  return orThrow(`${name}=${path} cannot be read.`, () => readFileSync(path, "utf8"));
}
