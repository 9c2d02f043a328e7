import { expect, test } from 'vitest';

import { hostsIn } from './hosts.ts';

test.for<[text: string, hosts: string[]]>([
  ['', []],
  [' \n\n', []],
  ['api.example.com', ['api.example.com']],
  [
    'a.example\r\nb.example, c.example  d.example',
    ['a.example', 'b.example', 'c.example', 'd.example'],
  ],
  ['a.example\na.example\n', ['a.example']],
])('%j names the hosts %j', ([text, hosts]) => {
  expect(hostsIn(text)).toEqual(hosts);
});
