import { expect, test } from 'vitest';

import { parseHosts } from './hosts.ts';

test.for<[text: string, hosts: string[]]>([
  ['', []],
  [' \n\n', []],
  ['api.example.com', ['api.example.com']],
  [
    'a.example\r\nb.example, c.example  d.example',
    ['a.example', 'b.example', 'c.example', 'd.example'],
  ],
  ['a.example\na.example\n', ['a.example']],
])('the text %j in the field for hosts is read as the hosts %j', ([text, hosts]) => {
  expect(parseHosts(text)).toEqual(hosts);
});
