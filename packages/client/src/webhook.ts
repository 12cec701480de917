/**
 * Verifies webhooks with Web Crypto, which Node, browsers and edge runtimes have: whether a request
 * comes from the service and was sent just now.
 */
import type { Event } from "./gen/api.ts";

/** A request as it was received. */
export interface ReceivedWebhook {
  /** The value of the header `Billing-Signature`. */
  readonly header: string | null | undefined;
  /** The body as received, before any parsing: other white space is another body. */
  readonly body: string | Uint8Array | ArrayBuffer;
  /** The endpoint's whole signing secret, `whsec_…`. */
  readonly secret: string;
  /** The current time in seconds since 1970; by default this machine's clock. */
  readonly now?: number;
}

/** Why a request must not be trusted. Answer it with 400 and ignore its content. */
export type WebhookFault =
  /** There is no header, or it does not have the form `t=<unix seconds>,v1=<hex>`. */
  | "header_invalid"
  /** The secret is not a signing secret: without one, anyone could sign. */
  | "secret_invalid"
  /** `t` is more than five minutes old: the request may be a replay. */
  | "too_old"
  /** `t` is more than five minutes ahead: one of the two clocks is wrong. */
  | "too_new"
  /** No `v1` was computed with this secret over these bytes. */
  | "signature_wrong";

/** The event of a request that may be trusted, or the reason why it may not. */
export type WebhookVerdict =
  | { readonly ok: true; readonly event: Event }
  | { readonly ok: false; readonly reason: WebhookFault };

const toleranceSeconds = 300;

/** Enough for a hundred members. A longer header is refused without further work. */
const headerLength = 8_192;

/** The most signatures. A rotation of the secret needs two. */
const signaturesAtMost = 16;

const encoder = new TextEncoder();

/**
 * Verifies that a request was signed with the secret within the last five minutes, and returns its
 * event. De-duplicate events by their `id`. `data.object` is what `getInvoice` and its like answer.
 * It throws only if a body that is signed is no JSON.
 */
export async function verifyWebhook(received: ReceivedWebhook): Promise<WebhookVerdict> {
  const { header, secret, now = Date.now() / 1000 } = received;
  const read = readHeader(header);
  if (read === null) return { ok: false, reason: "header_invalid" };
  if (!/^whsec_[\w-]{32,}$/.test(secret)) return { ok: false, reason: "secret_invalid" };
  const age = Math.floor(now) - Number(read.t);
  if (!(age <= toleranceSeconds)) return { ok: false, reason: "too_old" };
  if (age < -toleranceSeconds) return { ok: false, reason: "too_new" };
  const body = bytesOf(received.body);
  if (!(await isSigned(read, body, secret))) return { ok: false, reason: "signature_wrong" };
  return { ok: true, event: JSON.parse(new TextDecoder().decode(body)) as Event };
}

type Bytes = Uint8Array<ArrayBuffer>;

interface SignatureHeader {
  /** Kept as written, because the text as written is signed. */
  readonly t: string;
  readonly signatures: readonly Bytes[];
}

/** Each signature is compared, and `verify` compares in constant time. */
async function isSigned(
  { t, signatures }: SignatureHeader,
  body: Bytes,
  secret: string,
): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const bytes = encoder.encode(secret);
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  const prefix = encoder.encode(`${t}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  const verdicts = await Promise.all(
    signatures.map((signature) => crypto.subtle.verify("HMAC", key, signature, signed)),
  );
  return verdicts.includes(true);
}

function bytesOf(body: ReceivedWebhook["body"]): Bytes {
  return typeof body === "string" ? encoder.encode(body) : new Uint8Array(body);
}

function readHeader(header: ReceivedWebhook["header"]): SignatureHeader | null {
  if (typeof header !== "string" || header.length > headerLength) return null;
  const times: string[] = [];
  const signatures: Bytes[] = [];
  for (const member of header.split(",")) {
    const [, name, value = ""] = /^([a-z][a-z0-9]*)=([!-+\--~]*)$/.exec(member) ?? [];
    if (name === undefined) return null;
    if (name === "t") times.push(value);
    if (name !== "v1") continue;
    if (!/^[0-9a-f]{64}$/.test(value)) return null;
    signatures.push(fromHex(value));
  }
  const [t = "", ...others] = times;
  const isWhole = /^[1-9]\d{0,11}$/.test(t) && others.length === 0;
  return isWhole && signatures.length > 0 && signatures.length <= signaturesAtMost
    ? { t, signatures }
    : null;
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
