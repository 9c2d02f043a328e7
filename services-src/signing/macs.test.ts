import { expect, test } from 'vitest';

import { createMacs } from './macs.ts';

const card = { request: { method: 'POST', body: { b: 1, a: [1, undefined] } }, label: 'x' };
const macs = createMacs('card', 'k'.repeat(43));

test("a MAC is valid in any order of the object's fields, and after the object was stored as JSON", () => {
  const mac = macs.toMac(card);
  expect(macs.holds(JSON.parse(JSON.stringify(card)), mac)).toBe(true);
  expect(macs.holds({ label: 'x', request: card.request }, mac)).toBe(true);
});

test('a MAC is invalid for an object with other fields and under another key', () => {
  const mac = macs.toMac(card);
  expect(macs.holds({ ...card, label: 'y' }, mac)).toBe(false);
  expect(macs.holds({ ...card, more: true }, mac)).toBe(false);
  expect(createMacs('card', 'l'.repeat(43)).holds(card, mac)).toBe(false);
  for (const text of ['', 'x', mac.slice(0, -1)]) expect(macs.holds(card, text)).toBe(false);
});
