/**
 * Checks certificates and keys in PEM as they are read. TLS would refuse a wrong one later, with an
 * error that names no setting.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { OnFault } from "./read-settings.ts";

/** A text in PEM. `setting` names its origin in faults, such as `TLS_CERT_FILE=/tls/cert.pem`. */
export interface Pem {
  readonly setting: string;
  readonly text: string;
}

/** Reads the file that a setting names. Returns null, with a fault, if it cannot be read. */
export function readPem(name: string, path: string, onFault: OnFault): Pem | null {
  const setting = `${name}=${path}`;
  try {
    return { setting, text: readFileSync(path, "utf8") };
  } catch {
    onFault(`${setting} cannot be read.`);
    return null;
  }
}

/** Returns the first certificate. Returns null, with a fault, if there is none. */
export function certificateOf({ setting, text }: Pem, onFault: OnFault): X509Certificate | null {
  return orFault(`${setting} is no certificate in PEM.`, onFault, () => new X509Certificate(text));
}

function keyOf({ setting, text }: Pem, onFault: OnFault): KeyObject | null {
  const message = `${setting} is no private key in PEM without a passphrase.`;
  return orFault(message, onFault, () => createPrivateKey(text));
}

/**
 * Reports every fault of a certificate chain and its key. The key itself is never shown. Null
 * stands for a text that could not be read.
 */
export function checkPair(cert: Pem | null, key: Pem | null, onFault: OnFault): void {
  const chain = cert === null ? null : certificateOf(cert, onFault);
  const privateKey = key === null ? null : keyOf(key, onFault);
  if (cert === null || key === null || chain === null || privateKey === null) return;
  if (!chain.checkPrivateKey(privateKey)) {
    onFault(`${key.setting} is not the key of the first certificate in ${cert.setting}.`);
    return;
  }
  orFault(`${cert.setting} and ${key.setting} cannot be used for TLS.`, onFault, () =>
    createSecureContext({ cert: cert.text, key: key.text }),
  );
}

function orFault<T>(message: string, onFault: OnFault, work: () => T): T | null {
  try {
    return work();
  } catch {
    onFault(message);
    return null;
  }
}

/** A certificate chain and its key, in PEM. */
interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Returns the pair of TLS_CERT_FILE and TLS_KEY_FILE, of both ports. Null if neither is set or
 * there is a fault.
 */
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
