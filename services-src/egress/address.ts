import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** `never` cannot be opened by any setting; `special` can, by EGRESS_ALLOW; `public` needs nothing. */
export type AddressKind = 'public' | 'special' | 'never';

const cidrs = (texts: readonly string[]): [Address, number][] =>
  texts.map((text) => ipaddr.parseCIDR(text));

/**
 * Where clouds hand out credentials to whoever asks. Link-local as a whole, because every provider
 * keeps adding services there and no API lives there; the others are the exceptions that providers
 * put elsewhere (Azure's is even a public address).
 */
const metadata = cidrs([
  '169.254.0.0/16',
  'fe80::/10',
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure
  '192.0.0.192/32', // Oracle, classic
  'fd00:ec2::/32', // AWS
  'fd20:ce::/32', // Google
  'fd00:c1::a9fe:a9fe/128', // Oracle
]);

/** Never anybody's API, and a way to reach oneself or a whole network segment. */
const nowhere = cidrs(['0.0.0.0/8', '224.0.0.0/4', '255.255.255.255/32', '::/128', 'ff00::/8']);

/** Only what IANA hands out as global unicast; the library calls any range it does not know unicast. */
const globalUnicastV6 = ipaddr.parseCIDR('2000::/3');

const within = (address: Address, ranges: readonly [Address, number][]): boolean =>
  ranges.some((range) => range[0].kind() === address.kind() && address.match(range));

/** An address in its plain notation. Undefined for anything else: spellings are the URL parser's job. */
export function parseAddress(text: string): Address | undefined {
  if (isIP(text) === 0) return undefined;
  return ipaddr.parse(text);
}

/** The IPv4 addresses that a network may deliver an IPv6 address to, whatever the translation. */
export function embeddedAddresses(address: Address): ipaddr.IPv4[] {
  // `::1` lies in the IPv4-compatible range but means itself, not 0.0.0.1.
  if (address.kind() === 'ipv4' || address.range() === 'loopback') return [];
  const bytes = address.toByteArray();
  const starts = (...prefix: number[]) => prefix.every((byte, at) => bytes[at] === byte);
  const at = (...offsets: number[]) => new ipaddr.IPv4(offsets.map((offset) => bytes[offset]!));
  const zeros = (from: number, to: number) => bytes.slice(from, to).every((byte) => byte === 0);
  const last = at(12, 13, 14, 15);
  const mapped = zeros(0, 10) && bytes[10] === 0xff && bytes[11] === 0xff;
  const translated = zeros(0, 8) && bytes[8] === 0xff && bytes[9] === 0xff && zeros(10, 12);
  if (zeros(0, 12) || mapped || translated) return [last];
  // NAT64: RFC 6052 puts the address last under a /96, and around byte 8 under the /48 of RFC 8215.
  if (starts(0x00, 0x64, 0xff, 0x9b)) return zeros(6, 8) ? [last] : [last, at(6, 7, 9, 10)];
  if (starts(0x20, 0x02)) return [at(2, 3, 4, 5)]; // 6to4, RFC 3056
  if (starts(0x20, 0x01, 0x00, 0x00)) {
    return [new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff))]; // Teredo, RFC 4380
  }
  const isatap = (bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e;
  return isatap && bytes[11] === 0xfe ? [last] : []; // ISATAP, RFC 5214
}

/** Sorts an address into what may be reached by anybody, by setting, and never. */
export function classifyAddress(address: Address): AddressKind {
  if (isNever(address)) return 'never';
  const embedded = embeddedAddresses(address);
  if (embedded.length > 0) return embedded.some(isNever) ? 'never' : 'special';
  if (address.range() !== 'unicast') return 'special';
  return address.kind() === 'ipv4' || address.match(globalUnicastV6) ? 'public' : 'special';
}

function isNever(address: Address): boolean {
  return within(address, metadata) || within(address, nowhere);
}
