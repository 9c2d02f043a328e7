import { describe, expect, it } from 'vitest';

import { parseAddress } from './address.ts';
import { allowsAddress, allowsHost, allowsSomeAddress, parseEgressAllow } from './allow.ts';

const addressOf = (text: string) => parseAddress(text)!;

describe('parsing the setting EGRESS_ALLOW (parseEgressAllow)', () => {
  it('reads hosts, networks and networks with a port', () => {
    const allow = parseEgressAllow(
      ' git.corp:8443, 10.0.0.0/8 ,127.0.0.1/32:9000,fd00::/8,[fd12::]/16:443, [::1]:8080,',
    );
    expect(allowsHost(allow, 'git.corp', 8443)).toBe(true);
    expect(allowsHost(allow, 'git.corp', 443)).toBe(false);
    expect(allowsHost(allow, '[::1]', 8080)).toBe(true);
    expect(allowsAddress(allow, addressOf('10.200.0.1'), 1)).toBe(true);
    expect(allowsAddress(allow, addressOf('11.0.0.1'), 1)).toBe(false);
    expect(allowsAddress(allow, addressOf('127.0.0.1'), 9000)).toBe(true);
    expect(allowsAddress(allow, addressOf('127.0.0.1'), 9001)).toBe(false);
    expect(allowsAddress(allow, addressOf('127.0.0.2'), 9000)).toBe(false);
    expect(allowsAddress(allow, addressOf('fd00::1'), 5)).toBe(true);
    expect(allowsAddress(allow, addressOf('::ffff:10.0.0.1'), 1)).toBe(false);
  });

  it('normalises hosts as in a URL', () => {
    const allow = parseEgressAllow('Git.Corp.:443,bücher.example:443,0x7f.1:80');
    expect([...allow.hosts]).toEqual(['git.corp:443', 'xn--bcher-kva.example:443', '127.0.0.1:80']);
  });

  it('allows no destination when the setting is empty', () => {
    const allow = parseEgressAllow(' , ');
    expect(allow.hosts.size).toBe(0);
    expect(allowsSomeAddress(allow, 80)).toBe(false);
  });

  it.each([
    'localhost',
    '127.0.0.1',
    'http://x:80',
    '*.corp:443',
    'a:b@c:80',
    'x:0',
    'x:65536',
    'x:80/path',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/8:0',
    '10.0.0/8',
    '10.0.0.0/',
    'x/8',
    '/',
  ])('refuses the entry %j', (text) => {
    expect(() => parseEgressAllow(text)).toThrow(/EGRESS_ALLOW/);
  });
});
