import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * A `public` address may always be called, a `special` one only when EGRESS_ALLOW lists it, and a
 * `never` address not even then.
 */
export type AddressKind = 'public' | 'special' | 'never';

const parseCidrs = (texts: readonly string[]): [Address, number][] =>
  texts.map((text) => ipaddr.parseCIDR(text));

/**
 * The addresses at which clouds give credentials to any caller. The list contains the whole
 * link-local range, because providers keep adding such services to it and no API is in it. The
 * other entries are services that providers put elsewhere (Azure's even at a public address).
 */
const metadataRanges = parseCidrs([
  '169.254.0.0/16',
  'fe80::/10',
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure
  '192.0.0.192/32', // Oracle Cloud, classic
  'fd00:ec2::/32', // AWS
  'fd20:ce::/32', // Google
  'fd00:c1::a9fe:a9fe/128', // Oracle Cloud
]);

/** Addresses that belong to no API, and that lead to this machine or to a whole network segment. */
const unroutableRanges = parseCidrs([
  '0.0.0.0/8',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  'ff00::/8',
]);

/**
 * The range that IANA assigns as global unicast; the library calls every range that it does not
 * know unicast.
 */
const globalUnicastV6 = ipaddr.parseCIDR('2000::/3');

const isWithin = (address: Address, ranges: readonly [Address, number][]): boolean =>
  ranges.some((range) => range[0].kind() === address.kind() && address.match(range));

/**
 * Parses an address in its plain notation, and returns undefined for any other text. Only the URL
 * parser reads other notations, such as hexadecimal.
 */
export function parseAddress(text: string): Address | undefined {
  if (isIP(text) === 0) return undefined;
  return ipaddr.parse(text);
}

/**
 * The IPv4 addresses to which a network may deliver packets for an IPv6 address, by any method of
 * address translation.
 */
export function embeddedAddressesOf(address: Address): ipaddr.IPv4[] {
  // `::1` is in the range of IPv4-compatible addresses, but it is the loopback address and not
  // 0.0.0.1.
  if (address.kind() === 'ipv4' || address.range() === 'loopback') return [];
  const bytes = address.toByteArray();
  const startsWithBytes = (...prefix: number[]) => prefix.every((byte, at) => bytes[at] === byte);
  const ipv4At = (...offsets: number[]) => new ipaddr.IPv4(offsets.map((offset) => bytes[offset]!));
  const areZeros = (from: number, to: number) => bytes.slice(from, to).every((byte) => byte === 0);
  const lastIpv4 = ipv4At(12, 13, 14, 15);
  const isMapped = areZeros(0, 10) && bytes[10] === 0xff && bytes[11] === 0xff;
  const isTranslated = areZeros(0, 8) && bytes[8] === 0xff && bytes[9] === 0xff && areZeros(10, 12);
  if (areZeros(0, 12) || isMapped || isTranslated) return [lastIpv4];
  // NAT64: RFC 6052 puts the IPv4 address last under a /96 prefix, and around byte 8 under the /48
  // prefix of RFC 8215.
  if (startsWithBytes(0x00, 0x64, 0xff, 0x9b))
    return areZeros(6, 8) ? [lastIpv4] : [lastIpv4, ipv4At(6, 7, 9, 10)];
  if (startsWithBytes(0x20, 0x02)) return [ipv4At(2, 3, 4, 5)]; // 6to4, RFC 3056
  if (startsWithBytes(0x20, 0x01, 0x00, 0x00)) {
    return [new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff))]; // Teredo, RFC 4380
  }
  const isIsatap = (bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e;
  return isIsatap && bytes[11] === 0xfe ? [lastIpv4] : []; // ISATAP, RFC 5214
}

/** Classifies an address: it may be called always, only when EGRESS_ALLOW lists it, or never. */
export function classifyAddress(address: Address): AddressKind {
  if (isNever(address)) return 'never';
  const embeddedIpv4s = embeddedAddressesOf(address);
  if (embeddedIpv4s.length > 0) return embeddedIpv4s.some(isNever) ? 'never' : 'special';
  if (address.range() !== 'unicast') return 'special';
  return address.kind() === 'ipv4' || address.match(globalUnicastV6) ? 'public' : 'special';
}

function isNever(address: Address): boolean {
  return isWithin(address, metadataRanges) || isWithin(address, unroutableRanges);
}
