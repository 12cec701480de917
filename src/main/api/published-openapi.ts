/**
 * The OpenAPI document as this installation publishes it: with its public address, without which
 * generated clients have no server, and with whom to ask.
 */
import { entityTagOf } from "../../transport/http/published-file.ts";

/** What the installation adds. */
interface Publisher {
  /** PUBLIC_URL without a final slash, or null. */
  readonly publicUrl: string | null;
  /** SUPPORT_CONTACT, an e-mail address or a page, or null. */
  readonly supportContact: string | null;
}

/** The members of the document that the installation changes. */
interface Document {
  readonly info: { readonly contact: object };
  readonly servers: readonly { readonly url: string }[];
}

/**
 * Returns the generated document with absolute addresses and the contact. Without settings its
 * bytes are unchanged, and its addresses are relative. The entity tag is a hash of the bytes.
 */
export function publishedOpenapi(
  generated: Buffer,
  publisher: Publisher,
): { readonly body: Buffer; readonly etag: string } {
  const body = bodyOf(generated, publisher);
  return { body, etag: entityTagOf(body) };
}

function bodyOf(generated: Buffer, { publicUrl, supportContact }: Publisher): Buffer {
  if (publicUrl === null && supportContact === null) return generated;
  const document = JSON.parse(generated.toString("utf8")) as Document;
  const { info, servers } = document;
  const published: Document = {
    ...document,
    info: { ...info, contact: { ...info.contact, ...contactOf(supportContact ?? publicUrl) } },
    // The paths begin with a slash, so the address without a path is an empty one.
    servers: servers.map(({ url }) => ({
      url: `${publicUrl ?? ""}${url}`.replace(/(.)\/$/, "$1"),
    })),
  };
  return Buffer.from(JSON.stringify(published));
}

function contactOf(address: string | null): object {
  if (address === null) return {};
  return URL.canParse(address) ? { url: address } : { email: address };
}
