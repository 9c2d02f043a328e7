import ipaddr from 'ipaddr.js';

/**
 * The network block that one subscriber is assumed to have, as text: the first `ipv4Bits` of an
 * IPv4 address, or the first `ipv6Bits` of an IPv6 address. A subscriber of IPv6 has at least a /64
 * and can send from any address in it. An IPv4 address written as IPv6 counts as IPv4; text that is
 * not an address is a block by itself.
 */
export function addressBlockOf(
  address: string,
  { ipv4Bits = 32, ipv6Bits = 64 }: { ipv4Bits?: number; ipv6Bits?: number } = {},
): string {
  if (!ipaddr.isValid(address)) return address;
  const parsedAddress = ipaddr.process(address);
  const bits = parsedAddress.kind() === 'ipv4' ? ipv4Bits : ipv6Bits;
  const bytes = parsedAddress.toByteArray().map((byte, index) => {
    const keptBits = Math.min(8, Math.max(0, bits - 8 * index));
    return byte & (0xff << (8 - keptBits));
  });
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}
