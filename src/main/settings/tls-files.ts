/** Reads TLS_CERT_FILE and TLS_KEY_FILE: the certificate and key of both ports. */
import { checkPair, readPem } from "./pem.ts";
import type { OnFault } from "./read-settings.ts";

/** A certificate chain and its key, in PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Returns the pair, or null if neither file is set or there is a fault. */
export function tlsFiles(env: NodeJS.ProcessEnv, onFault: OnFault): TlsPair | null {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = env;
  if (!certFile && !keyFile) return null;
  if (!certFile) onFault("TLS_KEY_FILE is set without TLS_CERT_FILE.");
  if (!keyFile) onFault("TLS_CERT_FILE is set without TLS_KEY_FILE.");
  if (!certFile || !keyFile) return null;
  const cert = readPem("TLS_CERT_FILE", certFile, onFault);
  const key = readPem("TLS_KEY_FILE", keyFile, onFault);
  checkPair(cert, key, onFault);
  return cert === null || key === null ? null : { cert: cert.text, key: key.text };
}
