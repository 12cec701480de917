/**
 * The verifier for receivers of webhooks: whether a request comes from this service and was sent
 * just now. It imports only Node's crypto, so that it can be copied into a receiver unchanged
 * (WEBHOOK-1).
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** A request as it was received. */
export interface ReceivedWebhook {
  /** The value of the header `Billing-Signature`. Anything but exactly one header is refused. */
  readonly header: string | readonly string[] | null | undefined;
  /**
   * The body as received, before any parsing: other white space is another body. A text counts as
   * its UTF-8.
   */
  readonly body: string | Uint8Array;
  /** The endpoint's whole signing secret, `whsec_…`. */
  readonly secret: string;
  /** The current time in seconds since 1970; by default this machine's clock. */
  readonly now?: number;
}

/** Why a request must not be trusted. Answer it with 400 and ignore its content. */
type WebhookFault =
  /**
   * There is no header, or it does not have the form `t=<unix seconds>,v1=<hex>`. Further members
   * are ignored.
   */
  | "header_invalid"
  /** The secret is not a signing secret: without one, anyone could sign. */
  | "secret_invalid"
  /**
   * `t` is more than five minutes old: the request may be a replay. Each attempt has a new
   * signature, so a late retry is not old.
   */
  | "too_old"
  /** `t` is more than five minutes ahead: one of the two clocks is wrong. */
  | "too_new"
  /** No `v1` was computed with this secret over these bytes. */
  | "signature_wrong";

/** The result of the verification. */
type WebhookVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: WebhookFault };

const toleranceSeconds = 300;

/** Enough for a hundred members. A longer header is refused without further work. */
const headerLength = 8_192;

/** The most signatures. A rotation needs two, and no legitimate header has more than these. */
const signaturesAtMost = 16;

/**
 * Verifies that a request was signed with the secret within the last five minutes. During a
 * rotation the header has several `v1`, and one must match. All are compared, in constant time. It
 * throws for nothing that was received.
 */
export function verifyWebhook({
  header,
  body,
  secret,
  now = Date.now() / 1000,
}: ReceivedWebhook): WebhookVerdict {
  const read = readHeader(header);
  if (read === null) return { ok: false, reason: "header_invalid" };
  if (!/^whsec_[\w-]{32,}$/.test(secret)) return { ok: false, reason: "secret_invalid" };
  const age = Math.floor(now) - Number(read.t);
  if (!(age <= toleranceSeconds)) return { ok: false, reason: "too_old" };
  if (age < -toleranceSeconds) return { ok: false, reason: "too_new" };
  const expected = createHmac("sha256", secret).update(`${read.t}.`).update(body).digest();
  const isSigned = read.signatures
    .map((signature) => timingSafeEqual(signature, expected))
    .includes(true);
  return isSigned ? { ok: true } : { ok: false, reason: "signature_wrong" };
}

interface SignatureHeader {
  /** Kept as written, because the text as written is signed. */
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
  return isWhole && signatures.length > 0 && signatures.length <= signaturesAtMost
    ? { t, signatures }
    : null;
}
