import ipaddr from 'ipaddr.js';

/**
 * The network block that one party is taken to hold, as text: of an IPv4 address its first
 * `ipv4Bits`, of an IPv6 address its first `ipv6Bits`. A subscriber of IPv6 holds at least a /64 and
 * can send from any address of it. An IPv4 address written as IPv6 counts as IPv4; a text that is
 * no address is a block of its own.
 */
export function addressBlock(
  address: string,
  { ipv4Bits = 32, ipv6Bits = 64 }: { ipv4Bits?: number; ipv6Bits?: number } = {},
): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  const bits = parsed.kind() === 'ipv4' ? ipv4Bits : ipv6Bits;
  const bytes = parsed.toByteArray().map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - 8 * index));
    return byte & (0xff << (8 - kept));
  });
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}
