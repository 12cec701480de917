/** What was done, as a command that does the same: with a token in place of the session. */
import { type DescMethodUnary, type MessageShape, toJsonString } from "@bufbuild/protobuf";

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

const withoutSecrets = (json: string) =>
  json.replace(/("client_secret":)"(?:[^"\\]|\\.)*"/, '$1"…"');

/** Returns the command. Secrets are left out of it. */
export function curlOf<Method extends DescMethodUnary>(
  method: Method,
  request: MessageShape<Method["input"]>,
  key: string,
): string {
  const { origin } = globalThis.location;
  const json = toJsonString(method.input, request, { useProtoFieldName: true });
  return [
    `curl ${quoted(`${origin}/${method.parent.typeName}/${method.name}`)}`,
    '-H "Authorization: Bearer $BILLING_TOKEN"',
    `-H ${quoted("Content-Type: application/json")}`,
    `-H ${quoted(`Idempotency-Key: ${key}`)}`,
    `-d ${quoted(withoutSecrets(json))}`,
  ].join(" \\\n  ");
}
