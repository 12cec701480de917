/**
 * The verifier for receivers of webhooks: whether a request comes from this service, and came just now. It imports nothing but Node's own
 * crypto, so that it can be copied into a receiver as it is. Spec: Events, Delivery rules 1 and 2.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** A request as it was received. */
export interface ReceivedWebhook {
  /** The value of the header `Billing-Signature`; what is not exactly one header is refused. */
  readonly header: string | readonly string[] | null | undefined;
  /** The body as it came, before any parsing: other white space is another body. A text counts as its UTF-8. */
  readonly body: string | Uint8Array;
  /** The endpoint's signing secret, `whsec_…`, whole. */
  readonly secret: string;
  /** Now, in seconds since 1970; by default this machine's clock. */
  readonly now?: number;
}

/** Why a request must not be believed. Answer it with 400 and do nothing of what it says. */
export type WebhookFault =
  /** There is no header, or it is not of the form `t=<unix seconds>,v1=<hex>`, to which members may be added that are left alone. */
  | "header_invalid"
  /** What is given as the secret is none: without one, anybody could sign. */
  | "secret_invalid"
  /** `t` is more than five minutes old: it may be a recording. Each attempt is signed anew, so a late one is not. */
  | "too_old"
  /** `t` is more than five minutes ahead: one of the two clocks is wrong. */
  | "too_new"
  /** None of its `v1` was made with this secret over these bytes. */
  | "signature_wrong";

/** What became of the verification. */
export type WebhookVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: WebhookFault };

const toleranceSeconds = 300;

/** Room for a hundred members, and no work to be made with more. */
const headerLength = 8_192;

/** A secret was rotated by two signatures; more than this is nobody's. */
const signaturesAtMost = 16;

/**
 * Whether a request was signed with the secret within the last five minutes. During a rotation the header has several `v1`, of which one must
 * match; all are compared, in constant time. Throws for nothing that was received.
 */
export function verifyWebhook({ header, body, secret, now = Date.now() / 1000 }: ReceivedWebhook): WebhookVerdict {
  const read = readHeader(header);
  if (read === null) return { ok: false, reason: "header_invalid" };
  if (!/^whsec_[\w-]{32,}$/.test(secret)) return { ok: false, reason: "secret_invalid" };
  const age = Math.floor(now) - Number(read.t);
  if (!(age <= toleranceSeconds)) return { ok: false, reason: "too_old" };
  if (age < -toleranceSeconds) return { ok: false, reason: "too_new" };
  const expected = createHmac("sha256", secret).update(`${read.t}.`).update(body).digest();
  const isSigned = read.signatures.map((signature) => timingSafeEqual(signature, expected)).includes(true);
  return isSigned ? { ok: true } : { ok: false, reason: "signature_wrong" };
}

interface SignatureHeader {
  /** As it is written, since it is signed as it is written. */
  readonly t: string;
  readonly signatures: readonly Uint8Array[];
}

function readHeader(header: ReceivedWebhook["header"]): SignatureHeader | null {
  if (typeof header !== "string" || header.length > headerLength) return null;
  const times: string[] = [];
  const signatures: Uint8Array[] = [];
  for (const member of header.split(",")) {
    const [, name, value = ""] = /^([a-z][a-z0-9]*)=([!-+\--~]*)$/.exec(member) ?? [];
    if (name === undefined) return null;
    if (name === "t") times.push(value);
    if (name !== "v1") continue;
    if (!/^[0-9a-f]{64}$/.test(value)) return null;
    signatures.push(Buffer.from(value, "hex"));
  }
  const [t = "", ...others] = times;
  const isWhole = /^[1-9]\d{0,11}$/.test(t) && others.length === 0;
  return isWhole && signatures.length > 0 && signatures.length <= signaturesAtMost ? { t, signatures } : null;
}
