import { createHash } from 'node:crypto';

import { expect, test } from 'vitest';

import { toProjectionJson, requestDigestOf } from './built-request.ts';
import type { BuiltRequest } from './built-request.ts';

function requestTo(url: string): BuiltRequest {
  const body = { b: 1, a: ['é"\n', null] };
  return {
    method: 'POST',
    url,
    headers: [['x-a', '"']],
    body: Buffer.from(JSON.stringify(body)),
    projection: {
      method: 'POST',
      url,
      params: { q: '\\' },
      headers: { 'x-a': '"' },
      content_type: 'application/json',
      body,
    },
  };
}

const urls = [
  'https://api.example.com/a?b=c%22',
  new URL('https://api.example.com/a?b=\\').href,
  new URL('https://api.example.com/a\u0007"?b="é\u2028').href,
  'https://api.example.com/"quoted"\\',
];

test.for(urls)(
  'the digest of a request to %s is the SHA-256 of its JSON form and its body',
  (url) => {
    const request = requestTo(url);
    const { method, headers, body } = request;
    const expected = createHash('sha256')
      .update(`${JSON.stringify([method, url, headers])}\n`)
      .update(body ?? '')
      .digest('hex');

    expect(requestDigestOf(request)).toBe(expected);
  },
);

test.for(urls)('the filters of a request to %s can read every member of its projection', (url) => {
  const { projection } = requestTo(url);

  expect(toProjectionJson(projection)).toBe(JSON.stringify(projection));
});
