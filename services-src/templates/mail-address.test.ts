import { expect, test } from 'vitest';

import { readMailAddress } from './mail-address.ts';

test.for<[text: string, address: string | undefined]>([
  ['ann@acme.example', 'ann@acme.example'],
  ['Ann.Berg+x@ACME.example', 'ann.berg+x@acme.example'],
  ['Ann Berg <Ann@acme.example>', 'ann@acme.example'],
  ['"Ann Berg" <ann@acme.example>', 'ann@acme.example'],
  ['<ann@acme.example>', 'ann@acme.example'],
  ['ann@acme.example, bob@evil.example', undefined],
  ['ann@acme.example bob@evil.example', undefined],
  ['bob@evil.example <ann@acme.example>', undefined],
  ['"bob@evil.example" <ann@acme.example>', undefined],
  ['"Berg, Ann" <ann@acme.example>', undefined],
  ['<bob@evil.example> <ann@acme.example>', undefined],
  ['Team: ann@acme.example;', undefined],
  ['ann@acme.example (bob@evil.example)', undefined],
  ['"bob@evil.example\\"@acme.example', undefined],
  ['ann@acme.example\r\nBcc: bob@evil.example', undefined],
  ['bob@evil.example@acme.example', undefined],
  ['bob%evil.example@acme.example', undefined],
  ['evil.example!bob@acme.example', undefined],
  ['=?utf-8?q?bob=40evil.example=3E=20?=@acme.example', undefined],
  ['=?utf-8?q?bob=40evil.example=2C?= <ann@acme.example>', undefined],
  ['"=?utf-8?q?x?=" <ann@acme.example>', undefined],
  ['bob＠evil.example， <ann@acme.example>', undefined],
  ['"bob﹫evil.example" <ann@acme.example>', undefined],
  ['Bob ＜bob.evil.example＞ <ann@acme.example>', undefined],
  ['Ann Bérg ﬁ 漢 <ann@acme.example>', 'ann@acme.example'],
  ['ann@acme.example.', undefined],
  ['ann@[127.0.0.1]', undefined],
  ['ann@ａcme.example', undefined],
  ['', undefined],
  [`${'a'.repeat(65)}@acme.example`, undefined],
  ['<ann@acme.example> <', undefined],
  ['Ann <b <ann@acme.example>', undefined],
  ['Ann\t<ann@acme.example>\n', 'ann@acme.example'],
  [`${' '.repeat(100_000)}x`, undefined],
  [`${' '.repeat(100_000)}<`, undefined],
])('the text %j is read as the mail address %s', ([text, address]) => {
  expect(readMailAddress(text)?.address.toLowerCase()).toBe(address);
});

test('an address keeps its spelling, and a display name loses its quotes and the blanks around it', () => {
  const address = 'Ann@ACME.example';
  expect(readMailAddress(address)).toEqual({ address, name: '' });
  expect(readMailAddress(`  Ann Berg  <${address}> `)).toEqual({ address, name: 'Ann Berg' });
  expect(readMailAddress(`" Ann B. Berg" <${address}>`)).toEqual({ address, name: 'Ann B. Berg' });
});
