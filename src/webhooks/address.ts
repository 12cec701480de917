/**
 * Decides which addresses webhook endpoints, and ledgers, may have. Their form is validated at
 * registration, and the network address of every connection is checked. Everything that is not
 * clearly public is refused (WEBHOOK-3).
 */
import { BlockList, isIP } from "node:net";

/**
 * `public`: only https and the public network. `development`: also http, any port, and this machine
 * itself.
 */
export type AddressMode = "public" | "development";

/** The most characters of an endpoint's URL. */
const urlLength = 2048;

const webhookExample = "https://hooks.example.com/billing";

/**
 * Returns the fault of an endpoint's URL, as words that follow its name ("must begin with
 * https://"), or null if it may be registered. It makes no DNS query: resolved addresses are
 * checked when a connection is made. The words name `example`.
 */
export function urlFault(url: string, mode: AddressMode, example = webhookExample): string | null {
  if (url.length > urlLength) return `must have ${urlLength} characters at most`;
  // Parsers differ over these characters. Node's would drop them or read them as slashes.
  if (/[\s\p{Cc}\p{Cf}\\]/u.test(url))
    return "must have no spaces, backslashes or control characters";
  const written = /^(https?):\/\/([^/?#]*)/i.exec(url);
  const scheme = written?.[1]?.toLowerCase();
  if (scheme === undefined || (scheme === "http" && mode === "public"))
    return "must begin with https://";
  if (written?.[2]?.includes("@")) return "must hold no user name or password";
  if (url.includes("#")) return "must have no fragment (#)";
  // With too many slashes the parser drops some and reads the path as the host.
  if (written?.[2] === "" || !URL.canParse(url)) return `must be an address such as ${example}`;
  const { hostname, port } = new URL(url);
  if (mode === "public" && !publicPorts.has(port)) return "must have port 443 or 8443";
  return port === "0"
    ? "must have a port that can be connected to"
    : hostFault(hostname, mode, new URL(example).hostname);
}

/** The allowed ports. An empty port is the scheme's: 443. */
const publicPorts: ReadonlySet<string> = new Set(["", "8443"]);

/**
 * Returns the fault of a host as the URL parser returns it: lower case, international names in
 * ASCII, numbers of any form as an address.
 */
function hostFault(hostname: string, mode: AddressMode, example: string): string | null {
  const literal = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  if (isIP(literal) !== 0)
    return isForbidden(literal, mode) ? "must be of the public network" : null;
  if (mode === "development" && hostname === "localhost") return null;
  const labels = hostname.split(".");
  const isName =
    hostname.length <= 253 && labels.length > 1 && labels.every((label) => labelForm.test(label));
  if (!isName) return `must name a host of the public network, such as ${example}`;
  return privateNames.some((name) => `.${hostname}`.endsWith(`.${name}`))
    ? "must be of the public network"
    : null;
}

const labelForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Names that public DNS does not resolve, or that mean a network's own hosts: RFC 6761, 6762
 * (appendix G), 7686, 8375, 9476, and ICANN's `internal`.
 */
const privateNames: readonly string[] = [
  "alt",
  "arpa",
  "corp",
  "home",
  "internal",
  "intranet",
  "invalid",
  "lan",
  "local",
  "localdomain",
  "localhost",
  "onion",
  "private",
  "test",
];

/**
 * Whether requests to a network address are forbidden; invalid text counts as an address that is.
 * Forbidden are the IANA registries of special-purpose addresses and cloud providers' own
 * addresses. So is every IPv6 form that holds an IPv4 address, whatever that is.
 */
export function isForbidden(address: string, mode: AddressMode): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes("%")) return true;
  const type = family === 4 ? "ipv4" : "ipv6";
  if (mode === "development" && loopback.check(address, type)) return false;
  if (family === 4) return specialIpv4.check(address, "ipv4");
  return (
    !globalIpv6.check(address, "ipv6") || specialIpv6.check(address, "ipv6") || isIsatap(address)
  );
}

const loopback = blockListOf({ ipv4: ["127.0.0.0/8"], ipv6: ["::1/128"] });

/**
 * IANA IPv4 Special-Purpose Address Registry, multicast and reserved space. Whole blocks are
 * listed, also if parts of them are global.
 */
const specialIpv4 = blockListOf({
  ipv4: [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    // Public by its number, but it belongs to the machine's provider: Azure's wire server.
    "168.63.129.16/32",
  ],
});

/**
 * The space allocated for the public network. Mapped IPv4, NAT64, unique local, link-local and
 * multicast addresses lie outside it.
 */
const globalIpv6 = blockListOf({ ipv6: ["2000::/3"] });

/**
 * IANA IPv6 Special-Purpose Address Registry within 2000::/3: protocol assignments with Teredo and
 * ORCHID, documentation, 6to4, AS112.
 */
const specialIpv6 = blockListOf({
  ipv6: ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"],
});

interface Networks {
  readonly ipv4?: readonly string[];
  readonly ipv6?: readonly string[];
}

function blockListOf({ ipv4 = [], ipv6 = [] }: Networks): BlockList {
  const list = new BlockList();
  const add = (network: string, type: "ipv4" | "ipv6") => {
    const [address = "", length] = network.split("/");
    list.addSubnet(address, Number(length), type);
  };
  for (const network of ipv4) add(network, "ipv4");
  for (const network of ipv6) add(network, "ipv6");
  return list;
}

/**
 * Whether the address has an ISATAP interface id (RFC 5214), in any network. A router may send its
 * traffic to the IPv4 address in its last half.
 */
function isIsatap(address: string): boolean {
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const first = head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const groups =
    tail === undefined
      ? first
      : [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
  return groups[5] === "5efe" && (groups[4] === "0" || groups[4] === "200");
}
