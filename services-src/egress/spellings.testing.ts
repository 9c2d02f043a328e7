/**
 * Addresses that must not be called, addresses that may be called, and the ways to write an
 * address.
 */

const splitWords = (text: string) => text.trim().split(/\s+/);

export const forbiddenAddresses = splitWords(`
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.0.0.2
  127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1
  172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255
  198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1
  255.255.255.255 :: ::1 ::7f00:1 ::a9fe:a9fe ::ffff:127.0.0.1 ::ffff:169.254.169.254
  ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::7f00:1
  100::1 2001::1 2001:0:1:2:3:4:5601:5601 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
  2002:7f00:1:: 2002:a9fe:a9fe:: 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254
  fd12:3456:789a::1 fe80::1 fec0::1 ff02::1
`);

/** Addresses that must not be reached even when the operator opens every network. */
export const metadataAddresses = splitWords(`
  169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254
  fd20:ce::254 ::a9fe:a9fe ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::
  2001:0:1:2:3:4:5601:5601 fe80::1
`);

export const publicAddresses = splitWords(`
  1.1.1.1 93.184.216.34 8.8.8.8 100.128.0.1 2606:4700::1111 2a00::1
`);

/** The notations of an address in a URL that some parser or resolver accepts. */
export function spellingsOf(address: string): string[] {
  return address.includes(':') ? spellingsOfV6(address) : spellingsOfV4(address);
}

function spellingsOfV6(address: string): string[] {
  const shortForm = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail = ''] = shortForm.split('::');
  const groupsOf = (text: string) => text.split(':').filter((group) => group !== '');
  const missingCount = 8 - groupsOf(head).length - groupsOf(tail).length;
  const zeroGroups = shortForm.includes('::')
    ? Array.from({ length: missingCount }, () => '0')
    : [];
  const groups = [...groupsOf(head), ...zeroGroups, ...groupsOf(tail)];
  const long = groups.map((group) => group.padStart(4, '0'));
  const last = long.slice(6).join('');
  const dottedEnd = [0, 2, 4, 6].map((at) => Number.parseInt(last.slice(at, at + 2), 16)).join('.');
  return [
    `[${address}]`,
    `[${address.toUpperCase()}]`,
    `[${shortForm}]`,
    `[${groups.join(':')}]`,
    `[${long.join(':')}]`,
    `[${long.join(':').toUpperCase()}]`,
    `[${groups.slice(0, 6).join(':')}:${dottedEnd}]`,
    `[${shortForm}%25lo]`,
    `[${shortForm}%lo]`,
    `[${shortForm}].`,
    shortForm,
    `%5b${shortForm}%5d`,
  ];
}

function spellingsOfV4(address: string): string[] {
  const bytes = address.split('.').map(Number);
  const addressNumber = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  const [a, b, x, y] = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  const lowBytes = (count: number) => addressNumber % 256 ** count;
  const inOtherDigits = (digits: string) =>
    address.replaceAll(/[0-9]/g, (digit) => Array.from(digits)[Number(digit)] ?? digit);
  return [
    address,
    `${address}.`,
    String(addressNumber),
    `${addressNumber}.`,
    `0x${addressNumber.toString(16)}`,
    `0X${addressNumber.toString(16).toUpperCase()}`,
    `0x0000${addressNumber.toString(16)}`,
    `0${addressNumber.toString(8)}`,
    `0x${a}.0x${b}.0x${x}.0x${y}`,
    `0x${a}.${bytes[1]}.0${bytes[2]?.toString(8)}.${bytes[3]}`,
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    bytes.map((byte) => byte.toString(8).padStart(8, '0')).join('.'),
    `${bytes[0]}.${lowBytes(3)}`,
    `${bytes[0]}.0x${lowBytes(3).toString(16)}`,
    `${bytes[0]}.${bytes[1]}.${lowBytes(2)}`,
    inOtherDigits('０１２３４５６７８９'),
    inOtherDigits('⁰¹²³⁴⁵⁶⁷⁸⁹'),
    inOtherDigits('⓪①②③④⑤⑥⑦⑧⑨'),
    address.replaceAll('.', '\u3002'),
    address.replaceAll('.', '\uff0e'),
    address.replaceAll('.', '\uff61'),
    address.replaceAll('.', '%2e'),
    address.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16)}`),
    `${address.slice(0, 2)}\u00ad${address.slice(2)}`,
    `[::ffff:${a}${b}:${x}${y}]`,
    `[::ffff:${address}]`,
    `[::ffff:0:${address}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${a}${b}:${x}${y}]`,
    `[2002:${a}${b}:${x}${y}::]`,
    `[2001:0:1:2:3:4:${toHexGroup(~addressNumber >>> 16)}:${toHexGroup(~addressNumber)}]`,
    `[2a00::5efe:${a}${b}:${x}${y}]`,
  ];
}

const toHexGroup = (value: number) => (value & 0xffff).toString(16);

const names = ['localhost', 'LOCALHOST', 'localhost.', 'ip6-localhost', 'localhost.localdomain'];

/**
 * URLs that must not lead to any forbidden address: every notation, with various schemes, ports and
 * misleading text around the host.
 */
export function listForbiddenUrls(): string[] {
  const spelledHosts = [...forbiddenAddresses.flatMap(spellingsOf), ...names];
  const plain = spelledHosts.flatMap((host) => [
    `https://${host}/x`,
    `http://${host}/x`,
    `https://${host}:8080/x`,
  ]);
  const misleadingUrls = ['127.0.0.1', '169.254.169.254', '[::1]', 'localhost'].flatMap((host) => [
    `https://user@${host}/x`,
    `https://user:pass@${host}/x`,
    `https://1.1.1.1@${host}/x`,
    `https://1.1.1.1%40${host}/x`,
    `https://1.1.1.1\\@${host}/x`,
    `https://1.1.1.1:443@${host}/x`,
    `https:\\\\${host}\\x`,
    `https:${host}/x`,
    `https:/${host}/x`,
    `https:///${host}/x`,
    `https://\t${host}/x`,
    `\u0001https://${host}/x`,
    `https://${host}\u0000.example.com/x`,
    `https://${host}:0/x`,
    `https://${host}:00443/x`,
    `HTTPS://${host}/x`,
    `//${host}/x`,
    ...['ftp', 'gopher', 'file', 'ws', 'wss', 'data', 'unix'].map(
      (scheme) => `${scheme}://${host}/x`,
    ),
  ]);
  return [...new Set([...plain, ...misleadingUrls])];
}
