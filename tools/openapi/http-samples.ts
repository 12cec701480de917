/** The code samples of a request over HTTP without a client. Address and key are variables. */

/** A request as the samples send it. */
export interface SampleRequest {
  readonly verb: string;
  readonly path: string;
  /** The header fields in addition to that of the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as indented JSON, or null. */
  readonly body: string | null;
}

/** Returns the sample with curl. */
export function curlSample({ path, headers, body }: SampleRequest): string {
  const lines = [
    `curl "$BILLING_URL${path}"`,
    '-H "Authorization: Bearer $BILLING_API_KEY"',
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === null ? [] : [`-d '${body.replaceAll("'", String.raw`'\''`)}'`]),
  ];
  return lines.map((line) => line.replaceAll("\n", "\n  ")).join(" \\\n  ");
}

/** Returns the sample with the package requests of Python. It sets the type of JSON. */
export function pythonSample({ verb, path, headers, body }: SampleRequest): string {
  const further = Object.entries(headers).filter(([name]) => name !== "Content-Type");
  // Indented JSON has a value a line, so these words are no part of a text.
  const words: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" };
  const json = body
    ?.replaceAll(/(?<=: )(true|false|null)(?=,?$)/gm, (word) => words[word] ?? "")
    .replaceAll(/^ +/gm, (spaces) => spaces + spaces);
  return [
    "import os",
    "import requests",
    "",
    `answer = requests.${verb.toLowerCase()}(`,
    `    os.environ["BILLING_URL"] + "${path}",`,
    "    headers={",
    '        "Authorization": "Bearer " + os.environ["BILLING_API_KEY"],',
    ...further.map(([name, value]) => `        "${name}": "${value}",`),
    "    },",
    ...(json === undefined ? [] : [`    json=${json.replaceAll("\n", "\n    ")},`]),
    "    timeout=30,",
    ")",
    "answer.raise_for_status()",
    "print(answer.json())",
  ].join("\n");
}

/** Returns the sample with the standard library of Go. */
export function goSample({ verb, path, headers, body }: SampleRequest): string {
  const packages = ["io", "net/http", "os", ...(body === null ? [] : ["strings"])];
  const fail = "\tif err != nil {\n\t\tpanic(err)\n\t}";
  return [
    "package main",
    "",
    `import (\n${packages.map((name) => `\t"${name}"`).join("\n")}\n)`,
    "",
    "func main() {",
    ...(body === null ? [] : [`\tbody := strings.NewReader(\`${body}\`)`]),
    `\turl := os.Getenv("BILLING_URL") + "${path}"`,
    `\trequest, err := http.NewRequest("${verb}", url, ${body === null ? "nil" : "body"})`,
    fail,
    '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("BILLING_API_KEY"))',
    ...Object.entries(headers).map(
      ([name, value]) => `\trequest.Header.Set("${name}", "${value}")`,
    ),
    "\tanswer, err := http.DefaultClient.Do(request)",
    fail,
    "\tdefer answer.Body.Close()",
    "\tio.Copy(os.Stdout, answer.Body)",
    "}",
  ].join("\n");
}
