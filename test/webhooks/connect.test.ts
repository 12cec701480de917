/**
 * The guard of connections: which addresses of a name are connected, and which certificates are
 * trusted. WEBHOOK-3.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createConnect, type Lookup, lookupOf, peerFault } from "../../src/webhooks/connect.ts";
import { createPoster, type PosterOptions, type PostOutcome } from "../../src/webhooks/post.ts";
import { certificate } from "../transport/http/tls-fixture.ts";
import { startNameServer, type TestNameServer } from "./name-server-fixture.ts";
import { listen, startReceiver, stopped, type TestReceiver } from "./receiver-fixture.ts";

let receiver: TestReceiver;
let secured: TestReceiver;

beforeAll(async () => {
  receiver = await startReceiver((_request, response) => response.end());
  secured = await startReceiver(
    (_request, response) => response.end(),
    (listener) => createHttpsServer(certificate, listener),
  );
});
afterAll(() => Promise.all([receiver.stop(), secured.stop()]));

const host = "hooks.example.com";

/** One request by a new poster. */
async function post(url: string, options: Partial<PosterOptions> = {}): Promise<PostOutcome> {
  const poster = createPoster({ mode: "development", ...options });
  const outcome = await poster.post({ url, body: "{}", headers: {} });
  await poster.close();
  return outcome;
}

const answering =
  (...addresses: readonly string[]): Lookup =>
  () =>
    Promise.resolve(addresses);

const failed = (error: string | RegExp) => ({
  kind: "failed",
  error: expect.stringMatching(error),
});
const answered = { kind: "answered", status: 200 };

describe("a connection to a name", () => {
  test("uses its address, in any order of addresses, whichever of them answers", async () => {
    const url = `http://${host}:${receiver.port}/named`;
    expect(await post(url, { lookup: answering("127.0.0.1") })).toMatchObject(answered);
    expect(await post(url, { lookup: answering("::1", "127.0.0.1") })).toMatchObject(answered);
    expect(await post(url, { lookup: answering("127.0.0.1", "::1") })).toMatchObject(answered);
    expect(receiver.received.at(-1)?.headers.host).toBe(`${host}:${receiver.port}`);
  });

  test("is refused if one of its addresses is not public", async () => {
    const before = receiver.connections();
    const url = `http://${host}:${receiver.port}/`;
    const answers = [
      ["10.0.0.1"],
      ["127.0.0.1", "10.0.0.1"],
      ["127.0.0.1", "::1", "fe80::1"],
      ["fd00:ec2::254", "127.0.0.1"],
      ["127.0.0.1", "::ffff:169.254.169.254"],
      ["127.0.0.1", "64:ff9b::a9fe:a9fe"],
      ["127.0.0.1", "::1%lo"],
      ["127.0.0.1", "127.1"],
      ["127.0.0.1", "metadata.google.internal"],
      ["127.0.0.1", ""],
      [...Array.from({ length: 250 }, () => "127.0.0.1"), "10.0.0.1"],
    ];
    for (const addresses of answers) {
      expect(await post(url, { lookup: answering(...addresses) })).toMatchObject(
        failed(/^the address .* of hooks.example.com is not public$/),
      );
    }
    expect(receiver.connections()).toBe(before);
  });

  test("is refused if no name server resolved it", async () => {
    const url = `http://${host}:${receiver.port}/`;
    expect(await post(url, { lookup: answering() })).toMatchObject(
      failed("^the name hooks.example.com has no address$"),
    );
    const unknown = () =>
      Promise.reject(new Error("queryA ENOTFOUND hooks.example.com at 10.0.0.53"));
    expect(await post(url, { lookup: unknown })).toMatchObject(
      failed("^the name hooks.example.com could not be looked up$"),
    );
  });

  test("has one look-up, so that a later answer changes nothing", async () => {
    const asked: string[] = [];
    const changing: Lookup = async (name) => {
      asked.push(name);
      return asked.length === 1 ? ["127.0.0.1"] : ["10.0.0.1"];
    };
    const closing = await startReceiver((_request, response) =>
      response.writeHead(200, { connection: "close" }).end(),
    );
    const poster = createPoster({ mode: "development", lookup: changing });
    const send = () =>
      poster.post({ url: `http://${host}:${closing.port}/`, body: "{}", headers: {} });
    expect(await send()).toMatchObject(answered);
    expect(asked).toEqual([host]);
    expect(await send()).toMatchObject(
      failed("^the address 10.0.0.1 of hooks.example.com is not public$"),
    );
    expect(closing.connections()).toBe(1);
    await poster.close();
    await closing.stop();
  });

  test("lasts less than a minute, however much is sent to it", async () => {
    let asked = 0;
    const poster = createPoster({
      mode: "development",
      lookup: async () => {
        asked += 1;
        return ["127.0.0.1"];
      },
    });
    const send = () =>
      poster.post({ url: `http://${host}:${receiver.port}/`, body: "{}", headers: {} });
    let before = -1;
    while (asked > before) {
      before = asked;
      expect(await send()).toMatchObject(answered);
    }
    vi.useFakeTimers({ now: Date.now() + 61_000, toFake: ["Date"] });
    expect(await send()).toMatchObject(answered);
    vi.useRealTimers();
    expect(asked).toBe(before + 1);
    await poster.close();
  });

  test("tries few of its addresses, however many it has", async () => {
    const url = `http://${host}:${receiver.port}/`;
    const nobody = Array.from({ length: 250 }, () => "::1");
    expect(await post(url, { lookup: answering(...nobody, "127.0.0.1") })).toMatchObject({
      kind: "failed",
    });
    expect(
      await post(url, { lookup: answering(...nobody.slice(0, 5), "127.0.0.1") }),
    ).toMatchObject(answered);
  });

  test("ends at the deadline if the name servers are silent", async () => {
    const silent = () => new Promise<never>(() => undefined);
    expect(await post(`http://${host}/`, { lookup: silent, connectMs: 50 })).toMatchObject(
      failed("^no connection to hooks.example.com stood after 0.05 seconds$"),
    );
  });

  test("is not opened after the deadline, even if the name servers answer then", async () => {
    const before = receiver.connections();
    const late = Promise.withResolvers<readonly string[]>();
    const poster = createPoster({ mode: "development", lookup: () => late.promise, connectMs: 20 });
    const url = `http://${host}:${receiver.port}/`;
    expect(await poster.post({ url, body: "{}", headers: {} })).toMatchObject({ kind: "failed" });
    late.resolve(["127.0.0.1"]);
    expect(await post(`http://127.0.0.1:${receiver.port}/`)).toMatchObject(answered);
    expect(receiver.connections()).toBe(before + 1);
    await poster.close();
  });
});

describe("if only the public network is open", () => {
  test("no address of this machine or its network is connected, by name or literally", async () => {
    const before = secured.connections();
    const port = 443;
    for (const address of [
      "127.0.0.1",
      "10.0.0.1",
      "169.254.169.254",
      "::1",
      "::ffff:127.0.0.1",
      "100.64.0.1",
    ]) {
      const literal = address.includes(":") ? `[${address}]` : address;
      expect(await post(`https://${literal}:${port}/`, { mode: "public" })).toMatchObject(
        failed("must be of the public network"),
      );
      const named = await post(`https://${host}/`, {
        mode: "public",
        lookup: answering("8.8.8.8", address),
      });
      expect(named).toMatchObject(failed(`^the address ${address} of ${host} is not public$`));
    }
    expect(await post(`http://${host}/`, { mode: "public" })).toMatchObject(
      failed("must begin with https://"),
    );
    expect(secured.connections()).toBe(before);
  });

  test("nothing is sent over a connection to another address than was resolved", async () => {
    const sent: Buffer[] = [];
    let ended = 0;
    const both = Promise.withResolvers<void>();
    const elsewhere = createTcpServer((socket) => {
      socket.on("error", () => undefined).on("data", (bytes) => sent.push(bytes));
      socket.on("close", () => {
        ended += 1;
        if (ended === 2) both.resolve();
      });
    });
    const port = await listen(elsewhere);
    const onSocket = (message: unknown) =>
      Object.defineProperty((message as { socket: object }).socket, "remoteAddress", {
        value: "10.0.0.1",
      });
    subscribe("net.client.socket", onSocket);
    for (const scheme of ["http", "https"]) {
      const outcome = await post(`${scheme}://${host}:${port}/`, {
        lookup: answering("127.0.0.1"),
      });
      expect(outcome).toMatchObject(failed(`^the address 10.0.0.1 of ${host} is not public$`));
    }
    unsubscribe("net.client.socket", onSocket);
    await both.promise;
    expect(Buffer.concat(sent).toString()).toBe("");
    await stopped(elsewhere);
  });

  test("a literal address is checked like the addresses of names", async () => {
    const before = receiver.connections();
    const connect = createConnect({ mode: "public", connectMs: 10_000, lookup: answering() });
    for (const hostname of ["127.0.0.1", "[::1]", "::ffff:127.0.0.1"]) {
      const made = Promise.withResolvers<Error | null>();
      connect({ hostname, protocol: "http:", port: String(receiver.port) }, (...[error]) =>
        made.resolve(error),
      );
      expect((await made.promise)?.message).toMatch(/^the address .* is not public$/);
    }
    expect(receiver.connections()).toBe(before);
  });

  test("a connection is refused if its peer is not public, or this machine", () => {
    const at = (remoteAddress: string | undefined, localAddress = "192.168.1.2") =>
      peerFault({ remoteAddress, localAddress }, host, "public");
    expect(at("8.8.8.8")).toBeNull();
    expect(at("2606:4700:4700::1111")).toBeNull();
    for (const address of [
      "127.0.0.1",
      "10.0.0.1",
      "::ffff:127.0.0.1",
      "::ffff:8.8.8.8",
      "fe80::1%eth0",
      "169.254.169.254",
    ]) {
      expect(at(address)).toBe(`the address ${address} of ${host} is not public`);
    }
    // This machine under a public address.
    expect(at("8.8.8.8", "8.8.8.8")).toBe(`the address 8.8.8.8 of ${host} is not public`);
    expect(at(undefined)).toBe("the connection was closed before an answer came");
    expect(
      peerFault({ remoteAddress: "127.0.0.1", localAddress: "127.0.0.1" }, host, "development"),
    ).toBeNull();
  });
});

describe("the name servers of the public network", () => {
  let nameServer: TestNameServer;
  let lookup: Lookup;

  beforeAll(async () => {
    nameServer = await startNameServer({
      "both.example.com": { A: ["8.8.8.8", "8.8.4.4"], AAAA: ["2001:4860:4860:0:0:0:0:8888"] },
      "four.example.com": { A: ["8.8.8.8"], AAAA: "SERVFAIL" },
      "six.example.com": { A: [], AAAA: ["2001:4860:4860:0:0:0:0:8888"] },
      "alias.example.com": { CNAME: "db.internal", A: ["10.0.0.1"], AAAA: [] },
      "mapped.example.com": { A: ["8.8.8.8"], AAAA: ["0:0:0:0:0:ffff:a00:1"] },
      localhost: { A: ["8.8.8.8"], AAAA: [] },
    });
    lookup = lookupOf("public", [nameServer.address]);
  });
  afterAll(() => nameServer.stop());

  test("resolve addresses of both kinds, of which one kind is enough", async () => {
    expect(await lookup("both.example.com")).toEqual([
      "8.8.8.8",
      "8.8.4.4",
      "2001:4860:4860::8888",
    ]);
    expect(await lookup("four.example.com")).toEqual(["8.8.8.8"]);
    expect(await lookup("six.example.com")).toEqual(["2001:4860:4860::8888"]);
    await expect(lookup("nobody.example.com")).rejects.toThrow("ENOTFOUND");
  });

  test("resolve the name as it is, not one of this machine's files or domains", async () => {
    expect(await lookup("localhost")).toEqual(["8.8.8.8"]);
    expect(
      nameServer
        .asked()
        .filter((name) => name.startsWith("nobody.") && name !== "nobody.example.com"),
    ).toEqual([]);
  });

  test("gain nothing by an alias of a private name, or by one private address", async () => {
    const send = (name: string) => post(`https://${name}/`, { mode: "public", lookup });
    expect(await send("alias.example.com")).toMatchObject(
      failed("^the address 10.0.0.1 of alias.example.com is not public$"),
    );
    expect(await send("mapped.example.com")).toMatchObject(
      failed("^the address ::ffff:10.0.0.1 of mapped.example.com is not public$"),
    );
    expect(await send("nobody.example.com")).toMatchObject(
      failed("^the name nobody.example.com could not be looked up$"),
    );
  });

  test("are not this machine's own resolver, which serves development", async () => {
    expect(await lookupOf("development")("localhost")).toContain("127.0.0.1");
  });
});

describe("over TLS", () => {
  const trusted = getCACertificates("default");
  const trust = () => setDefaultCACertificates([...trusted, certificate.cert]);
  afterEach(() => {
    setDefaultCACertificates(trusted);
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });

  test("the certificate must be the host's, by name or by address", async () => {
    trust();
    expect(await post(`https://localhost:${secured.port}/`)).toMatchObject(answered);
    expect(await post(`https://127.0.0.1:${secured.port}/`)).toMatchObject(answered);
    const before = secured.received.length;
    const others = await post(`https://${host}:${secured.port}/`, {
      lookup: answering("127.0.0.1"),
    });
    expect(others).toMatchObject(
      failed("^the certificate is another host's \\(ERR_TLS_CERT_ALTNAME_INVALID\\)$"),
    );
    const otherAddress = await post(`https://[::ffff:127.0.0.1]:${secured.port}/`);
    expect(otherAddress).toMatchObject({ kind: "failed" });
    expect(secured.received.length).toBe(before);
  });

  test("an untrusted certificate is refused, whatever the environment says", async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    const before = secured.received.length;
    const outcome = await post(`https://localhost:${secured.port}/`);
    expect(outcome).toMatchObject(
      failed("^the certificate is not valid \\(DEPTH_ZERO_SELF_SIGNED_CERT\\)$"),
    );
    expect(secured.received.length).toBe(before);
  });

  test("a host with HTTP/2 only is reported, and one with both gets HTTP/1.1", async () => {
    trust();
    const only = createTlsServer({ ...certificate, ALPNProtocols: ["h2"] });
    only.on("tlsClientError", () => undefined);
    const port = await listen(only);
    expect(await post(`https://localhost:${port}/`)).toMatchObject(
      failed("^(?:no TLS connection could be made|the connection was closed)"),
    );
    await stopped(only);
    const both = await startReceiver(
      (_request, response) => response.end(),
      (listener) =>
        createHttpsServer({ ...certificate, ALPNProtocols: ["h2", "http/1.1"] }, listener),
    );
    expect(await post(`https://localhost:${both.port}/`)).toMatchObject(answered);
    await both.stop();
  });

  test("an unfinished greeting ends with the deadline, and cleartext ends at once", async () => {
    const silent = createTcpServer((socket) => socket.on("error", () => undefined).resume());
    const port = await listen(silent);
    const outcome = await post(`https://127.0.0.1:${port}/`, { connectMs: 100 });
    expect(outcome).toMatchObject(failed("^no connection to 127.0.0.1 stood after 0.1 seconds$"));
    await stopped(silent);
    expect(await post(`https://127.0.0.1:${receiver.port}/`)).toMatchObject(
      failed("^(?:no TLS connection could be made|the connection was closed)"),
    );
  });
});
