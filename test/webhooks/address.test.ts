/**
 * The addresses that endpoints may have, by form and by network, on more than a hundred forms.
 * WEBHOOK-3.
 */
import { describe, expect, test } from "vitest";
import { type AddressMode, isForbidden, urlFault } from "../../src/webhooks/address.ts";

const faultsOf = (urls: readonly string[], mode: AddressMode = "public") =>
  urls.filter((url) => urlFault(url, mode) !== null);
const allowed = (urls: readonly string[], mode: AddressMode = "public") =>
  urls.filter((url) => urlFault(url, mode) === null);

describe("an endpoint may be registered", () => {
  const good = [
    "https://hooks.example.com",
    "https://hooks.example.com/",
    "https://hooks.example.com/billing/events?tenant=1&x=%20#".slice(0, -1),
    "HTTPS://HOOKS.EXAMPLE.COM/Billing",
    "https://hooks.example.com:443/x",
    "https://hooks.example.com:8443/x",
    "https://a-b.c1.example/",
    "https://bücher.example/",
    "https://xn--bcher-kva.example/",
    "https://例え.テスト.com/",
    "https://localhost.example.com/",
    "https://internal-hooks.example.com/",
    "https://8.8.8.8/x",
    "https://[2606:4700:4700::1111]/x",
    "https://[2A00:1450:4001:80B::200E]:8443/x",
    "https://hooks.example.com/@path/a:b",
    "https://hooks.example.com/?to=http://127.0.0.1/",
  ];

  test("with https, a public name or address, and port 443 or 8443", () => {
    expect(faultsOf(good)).toEqual([]);
  });

  test("with every such address, also if the server runs for development", () => {
    expect(faultsOf(good, "development")).toEqual([]);
  });

  test("with http and loopback for development alone", () => {
    const own = [
      "http://127.0.0.1:9000/",
      "http://127.8.9.10/",
      "http://localhost:9000/hooks",
      "http://LOCALHOST/",
      "http://[::1]:9000/",
      "http://[::ffff:127.0.0.1]:9000/",
      "http://2130706433:9000/",
      "https://localhost:3000/",
      "http://hooks.example.com:8080/",
    ];
    expect(faultsOf(own, "development")).toEqual([]);
    expect(allowed(own)).toEqual([]);
  });
});

describe("an endpoint is refused", () => {
  test.each([
    ["http://hooks.example.com/", "must begin with https://"],
    ["ftp://hooks.example.com/", "must begin with https://"],
    ["file:///etc/passwd", "must begin with https://"],
    ["gopher://hooks.example.com/", "must begin with https://"],
    ["//hooks.example.com/", "must begin with https://"],
    ["hooks.example.com", "must begin with https://"],
    ["https:hooks.example.com", "must begin with https://"],
    ["https:/hooks.example.com", "must begin with https://"],
    ["", "must begin with https://"],
    ["https://user@hooks.example.com/", "must hold no user name or password"],
    ["https://user:word@hooks.example.com/", "must hold no user name or password"],
    ["https://@hooks.example.com/", "must hold no user name or password"],
    ["https://hooks.example.com@127.0.0.1/", "must hold no user name or password"],
    ["https://hooks.example.com/#", "must have no fragment (#)"],
    ["https://hooks.example.com#@127.0.0.1/", "must have no fragment (#)"],
    ["https://hooks.example.com:22/", "must have port 443 or 8443"],
    ["https://hooks.example.com:80/", "must have port 443 or 8443"],
    ["https://hooks.example.com:6379/", "must have port 443 or 8443"],
    ["https://hooks.example.com:0/", "must have port 443 or 8443"],
    [
      "https://hooks.example.com:99999/",
      "must be an address such as https://hooks.example.com/billing",
    ],
    ["https://", "must be an address such as https://hooks.example.com/billing"],
    ["https:///127.0.0.1/", "must be an address such as https://hooks.example.com/billing"],
    [
      "https:////user@hooks.example.com/",
      "must be an address such as https://hooks.example.com/billing",
    ],
    ["https://?hooks.example.com/", "must be an address such as https://hooks.example.com/billing"],
    ["https:///hooks.example.com", "must be an address such as https://hooks.example.com/billing"],
    ["https://[::1/", "must be an address such as https://hooks.example.com/billing"],
    ["https://[fe80::1%25eth0]/", "must be an address such as https://hooks.example.com/billing"],
    ["https://1.2.3.4.5/", "must be an address such as https://hooks.example.com/billing"],
    ["https://256.256.256.256/", "must be an address such as https://hooks.example.com/billing"],
    [
      "https://hooks.example.com\\@127.0.0.1/",
      "must have no spaces, backslashes or control characters",
    ],
    ["https:\\\\127.0.0.1/", "must have no spaces, backslashes or control characters"],
    [" https://hooks.example.com/", "must have no spaces, backslashes or control characters"],
    ["https://hooks.exa\tmple.com/", "must have no spaces, backslashes or control characters"],
    [
      "https://hooks.example.com/\r\nHost: x",
      "must have no spaces, backslashes or control characters",
    ],
    ["https://hooks.example.com/\0", "must have no spaces, backslashes or control characters"],
    ["https://hooks.exam\u00adple.com/", "must have no spaces, backslashes or control characters"],
    ["https://hooks.exam\u200bple.com/", "must have no spaces, backslashes or control characters"],
  ])("for its form: %j", (url, fault) => {
    expect(urlFault(url, "public")).toBe(fault);
  });

  test("for its length", () => {
    const url = (length: number) => "https://hooks.example.com/".padEnd(length, "x");
    expect(urlFault(url(2_048), "public")).toBeNull();
    expect(urlFault(url(2_049), "public")).toBe("must have 2048 characters at most");
  });

  test("if its host is no name of the public network", () => {
    const hosts = [
      "localhost",
      "LOCALHOST",
      "localhost.",
      "a.localhost",
      "localhost.localdomain",
      "router",
      "intranet",
      "printer.local",
      "printer.local.",
      "db.internal",
      "metadata.google.internal",
      "metadata.google.internal.",
      "kubernetes.default.svc.cluster.local",
      "nas.home.arpa",
      "1.0.0.127.in-addr.arpa",
      "git.corp",
      "wiki.intranet",
      "fritz.lan",
      "tv.home",
      "host.private",
      "service.test",
      "nothing.invalid",
      "hidden.onion",
      "name.alt",
      "hooks.example.com.",
      "hooks.example.com..",
      "hooks..example.com",
      ".example.com",
      "-a.example.com",
      "a-.example.com",
      "a_b.example.com",
      "*.example.com",
      `${"a".repeat(64)}.example.com`,
      `${"a.".repeat(127)}com`,
      "xn--localhost-",
      "ｌｏｃａｌｈｏｓｔ",
      "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
      "db。internal",
      "metadata．google．internal",
    ];
    expect(allowed(hosts.map((host) => `https://${host}/`))).toEqual([]);
  });

  const privateLiterals = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "0x7F.0x0.0x0.0x1",
    "127.000.000.001",
    "%31%32%37.0.0.1",
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "0",
    "0.0.0.0",
    "0x0",
    "10.0.0.1",
    "10.1",
    "167772161",
    "012.0.0.1",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.0.1",
    "192.168.1",
    "3232235521",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "224.0.0.1",
    "255.255.255.255",
    "4294967295",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2002:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fd20:ce::254]",
    "[ff02::1]",
  ];

  test("if its address is not public, however it is written", () => {
    expect(allowed(privateLiterals.map((literal) => `https://${literal}/`))).toEqual([]);
  });

  test("for development as well, except for loopback", () => {
    const loopback =
      /^(?:127|0x7f|0X7F|017|2130706433|%31|１|①|\[(?:::1|0:0|0000|::ffff:(?:127|7f)))/i;
    const elsewhere = privateLiterals.filter((literal) => !loopback.test(literal));
    expect(elsewhere.length).toBeGreaterThan(30);
    expect(
      allowed(
        elsewhere.map((literal) => `http://${literal}/`),
        "development",
      ),
    ).toEqual([]);
    expect(
      allowed(
        [
          "http://a.localhost/",
          "http://router/",
          "http://db.internal/",
          "http://user@localhost/",
          "http://127.0.0.1:0/",
        ],
        "development",
      ),
    ).toEqual([]);
  });
});

describe("an address of the network", () => {
  const forbidden = [
    // The first and last of each block.
    ..."0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255".split(" "),
    ..."100.64.0.0 100.127.255.255 127.0.0.0 127.255.255.255".split(" "),
    ..."169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255".split(" "),
    ..."172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255".split(" "),
    ..."192.0.2.0 192.0.2.255 192.31.196.1 192.52.193.1".split(" "),
    ..."192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255".split(" "),
    ..."192.175.48.1 198.18.0.0 198.19.255.255".split(" "),
    ..."198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255".split(" "),
    ..."224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255 168.63.129.16".split(
      " ",
    ),
    // IPv6 outside of 2000::/3.
    ...":: ::1 ::2 ::8.8.8.8 ::ffff:8.8.8.8 ::ffff:10.0.0.1 ::ffff:a00:1 ::ffff:0:8.8.8.8".split(
      " ",
    ),
    ..."64:ff9b::8.8.8.8 64:ff9b::10.0.0.1 64:ff9b:1::1".split(" "),
    ..."64:ff9b:1:ffff:ffff:ffff:ffff:ffff 100:: 100::1 100:0:0:1::1".split(" "),
    ..."1fff:ffff::1 4000:: 5f00::1 8000::1 fc00:: fdff:ffff::1".split(" "),
    ..."fd00:ec2::254 fe80::1 febf::1 fec0::1 ff00:: ff02::1 ff0e::1".split(" "),
    // Within it.
    ..."2001:: 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1".split(" "),
    ..."2001:2::1 2001:3::1 2001:4:112::1 2001:5::1".split(" "),
    ..."2001:10::1 2001:1f:: 2001:20::1 2001:2f::1".split(" "),
    ..."2001:30::1 2001:1ff:ffff::1 2001:db8:: 2001:db8:ffff::1".split(" "),
    ..."2002:: 2002:a00:1:: 2002:7f00:1::1".split(" "),
    ..."2002:808:808:: 2620:4f:8000::1 3fff:: 3fff:fff:ffff::1".split(" "),
    // ISATAP, whatever its network.
    ..."2606:4700::5efe:10.0.0.1 2606:4700::5efe:a00:1".split(" "),
    ..."2606:4700:0:0:200:5efe:a00:1 2a00:1450:4001:80b:0:5efe:7f00:1".split(" "),
    // With a zone, and what is no address at all.
    ..."fe80::1%eth0 2606:4700::1111%lo 127.0.0.1%lo 127.1 0x7f.0.0.1".split(" "),
    ..."2130706433 localhost [::1] 1.2.3 1.2.3.4.5".split(" "),
    "",
    " 8.8.8.8",
  ];
  const open = [
    ..."1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0".split(" "),
    ..."100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255".split(" "),
    ..."169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0".split(" "),
    ..."192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0".split(" "),
    ..."198.51.99.255 198.51.101.0 203.0.112.255".split(" "),
    ..."203.0.114.0 223.255.255.255 168.63.129.15 168.63.129.17".split(" "),
    ..."2001:200::1 2001:470::1 2001:4860:4860::8888 2001:db7:ffff::1".split(" "),
    ..."2001:db9::1 2003::1 2400:cb00::1 2606:4700:4700::1111".split(" "),
    ..."2620:4f:7fff::1 2620:4f:8001::1 2a00:1450:4001:80b::200e".split(" "),
    ..."3ffe:ffff::1 2606:4700::5efe 2606:4700:5efe::1 2606:4700::1:5efe:0:1".split(" "),
  ];

  test("is forbidden unless it clearly belongs to the public network", () => {
    expect(forbidden.filter((address) => !isForbidden(address, "public"))).toEqual([]);
    expect(open.filter((address) => isForbidden(address, "public"))).toEqual([]);
    expect(forbidden.length).toBeGreaterThan(100);
  });

  test("is open for development if it is public or loopback", () => {
    const own = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"];
    expect([...own, ...open].filter((address) => isForbidden(address, "development"))).toEqual([]);
    const others = forbidden.filter((address) => !/^127\.\d+\.\d+\.\d+$|^::1$/.test(address));
    expect(others.filter((address) => !isForbidden(address, "development"))).toEqual([]);
  });
});
