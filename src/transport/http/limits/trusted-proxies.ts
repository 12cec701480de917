/** Reads TRUSTED_PROXIES: the addresses and networks that many clients share. */
import { BlockList, isIP } from "node:net";

/** This machine: a local proxy, or local users. */
export const defaultTrustedProxies = "127.0.0.0/8,::1/128";

/**
 * Returns the setting, or its default. Throws an Error that names the setting and the entry that is
 * neither an address nor a network.
 */
export function trustedProxiesOf({ TRUSTED_PROXIES: setting }: NodeJS.ProcessEnv): BlockList {
  const list = new BlockList();
  for (const entry of (setting || defaultTrustedProxies).split(",")) addEntry(list, entry.trim());
  return list;
}

function addEntry(list: BlockList, entry: string): void {
  const [address = "", prefix, ...more] = entry.split("/");
  const bits = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (isIP(address) === 0 || !isPrefix || more.length > 0) {
    throw new Error(
      `TRUSTED_PROXIES: ${entry} must be an address such as 10.0.0.7 ` +
        "or a network such as 10.0.0.0/8.",
    );
  }
  list.addSubnet(address, Number(prefix ?? bits), bits === 128 ? "ipv6" : "ipv4");
}
