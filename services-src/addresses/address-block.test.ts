import { expect, test } from 'vitest';

import { addressBlockOf } from './address-block.ts';

test.for<[address: string, block: string]>([
  ['192.0.2.77', '192.0.2.77/32'],
  ['::ffff:192.0.2.77', '192.0.2.77/32'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['not an address', 'not an address'],
  ['', ''],
])('the address %s is in block %s', ([address, block]) => {
  expect(addressBlockOf(address)).toBe(block);
});

test('a block whose length is no multiple of eight bits ends inside a byte', () => {
  expect(addressBlockOf('192.0.2.77', { ipv4Bits: 24 })).toBe('192.0.2.0/24');
  expect(addressBlockOf('192.0.255.77', { ipv4Bits: 20 })).toBe('192.0.240.0/20');
  expect(addressBlockOf('2001:db8:1:2::1', { ipv6Bits: 48 })).toBe('2001:db8:1::/48');
  expect(addressBlockOf('2001:db8:1:2ff::1', { ipv6Bits: 56 })).toBe('2001:db8:1:200::/56');
});
