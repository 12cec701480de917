/** By which address a client is limited, and what TRUSTED_PROXIES takes. */
import { BlockList, type Socket } from "node:net";
import { expect, test } from "vitest";
import { trustedProxies } from "../../../../src/main/settings/read-settings.ts";
import { clientAddresses } from "../../../../src/transport/http/limits/client-addresses.ts";

const socket = (remoteAddress: string | undefined) => ({ remoteAddress }) as Socket;

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:db8::6", "2001:db8:0:0::/64"],
  ["fe80::1", "fe80:0:0:0::/64"],
  [undefined, null],
])("%s is limited as %s", (remote, address) => {
  expect(clientAddresses(new BlockList())(socket(remote))).toBe(address);
});

test("proxies that are trusted have no address, of either family and mapped", () => {
  const of = (setting: string | undefined, remote: string) =>
    clientAddresses(trustedProxies(setting === undefined ? {} : { TRUSTED_PROXIES: setting }))(
      socket(remote),
    );
  for (const remote of ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
    expect(of(undefined, remote)).toBe(null);
  expect(of(undefined, "10.0.0.7")).toBe("10.0.0.7");
  const setting = "10.0.0.0/8, 192.0.2.1 ,fd00::/8";
  for (const remote of ["10.1.2.3", "192.0.2.1", "fd12::1", "::ffff:10.1.2.3"])
    expect(of(setting, remote)).toBe(null);
  expect(of(setting, "127.0.0.1")).toBe("127.0.0.1");
  expect(of(setting, "192.0.2.2")).toBe("192.0.2.2");
});

test.each([
  "10.0.0",
  "10.0.0.0/33",
  "::1/129",
  "10.0.0.0/8/8",
  "10.0.0.0/-1",
  "proxy.example",
  "10.0.0.1,",
  "10.0.0.0/",
])("TRUSTED_PROXIES=%s is refused by its name", (setting) => {
  expect(() => trustedProxies({ TRUSTED_PROXIES: setting })).toThrow(/^TRUSTED_PROXIES: /);
});
