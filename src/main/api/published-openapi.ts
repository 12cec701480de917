/**
 * The OpenAPI document as this installation publishes it: with its public address, without which
 * generated clients have no server, and with whom to ask.
 */
import { stringify } from "yaml";
import { publishedFile } from "../../transport/http/published-file.ts";
import type { HttpAnswer } from "../../transport/http/system-endpoints.ts";

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
  readonly externalDocs: { readonly url: string };
  readonly servers: readonly { readonly url: string }[];
}

/**
 * Returns the answers with the document, by path: as JSON, and as YAML, which is made when it is
 * first asked for.
 */
export function openapiPages(json: Buffer): readonly (readonly [string, HttpAnswer])[] {
  let yaml: HttpAnswer | undefined;
  return [
    ["/v1/openapi.json", publishedFile({ body: json, contentType: "application/json" })],
    [
      "/v1/openapi.yaml",
      (request, response, exchange) => {
        yaml ??= publishedFile({ body: yamlOf(json), contentType: "application/yaml" });
        return yaml(request, response, exchange);
      },
    ],
  ];
}

function yamlOf(json: Buffer): Buffer {
  const document: unknown = JSON.parse(json.toString("utf8"));
  return Buffer.from(stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 }));
}

/**
 * Returns the generated document with absolute addresses and the contact. Without settings its
 * bytes are unchanged, and its addresses are relative.
 */
export function publishedOpenapi(
  generated: Buffer,
  { publicUrl, supportContact }: Publisher,
): Buffer {
  if (publicUrl === null && supportContact === null) return generated;
  const document = JSON.parse(generated.toString("utf8")) as Document;
  const { info, externalDocs, servers } = document;
  const published: Document = {
    ...document,
    info: { ...info, contact: { ...info.contact, ...contactOf(supportContact ?? publicUrl) } },
    externalDocs: { ...externalDocs, url: `${publicUrl ?? ""}${externalDocs.url}` },
    // The paths begin with a slash, so the address without a path is an empty one.
    servers: servers.map(({ url }) => ({
      url: `${publicUrl ?? ""}${url}`.replace(/(.)\/$/, "$1"),
    })),
  };
  const text = JSON.stringify(published);
  return Buffer.from(publicUrl === null ? text : withAbsoluteLinks(text, publicUrl));
}

/** Generated clients copy the descriptions, whose links to the pages then need the host. */
function withAbsoluteLinks(json: string, publicUrl: string): string {
  return json.replaceAll("](/docs", () => `](${JSON.stringify(publicUrl).slice(1, -1)}/docs`);
}

function contactOf(address: string | null): object {
  if (address === null) return {};
  return URL.canParse(address) ? { url: address } : { email: address };
}
