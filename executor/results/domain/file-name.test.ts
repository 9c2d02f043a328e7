import { expect, test } from 'vitest';

import { safeFileNameOf } from './file-name.ts';

const url = 'https://api.example.com/v1/files/report%202026.pdf?x=1';

test.for<[string | undefined, string]>([
  [undefined, 'report_2026.pdf'],
  ['attachment', 'report_2026.pdf'],
  ['attachment; filename=plain.csv', 'plain.csv'],
  ['attachment; filename="with \\"quotes\\".csv"', 'with_quotes_.csv'],
  [`attachment; filename="x.csv"; filename*=UTF-8''na%C3%AFve%20file.csv`, 'naive_file.csv'],
  ['attachment; filename="../../etc/passwd"', 'passwd'],
  ['attachment; filename="..\\\\..\\\\evil.exe"', 'evil.exe'],
  ['attachment; filename=".bashrc"', 'bashrc'],
  ['attachment; filename="nul.txt"', '_nul.txt'],
  ['attachment; filename="a\r\nset-cookie: x"', 'a_set-cookie_x'],
  ['attachment; filename="报告"', 'report_2026.pdf'],
  [`attachment; filename="${'a'.repeat(300)}.pdf"`, `${'a'.repeat(96)}.pdf`],
])('with the Content-Disposition %j, a file gets the name %j', ([disposition, name]) => {
  expect(safeFileNameOf({ disposition, url })).toBe(name);
});

test('a file gets the name "download" when neither header nor URL has a name', () => {
  expect(safeFileNameOf({ disposition: undefined, url: 'https://a.example/' })).toBe('download');
  expect(safeFileNameOf({ disposition: undefined, url: 'https://a.example/%ff%fe' })).toBe('ff_fe');
});
