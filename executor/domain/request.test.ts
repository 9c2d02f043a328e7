import { createHash } from 'node:crypto';

import { expect, test } from 'vitest';

import { projectionJson, requestDigestOf } from './request.ts';
import type { BuiltRequest } from './request.ts';

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

test.for(urls)('the digest of a request to %s is of its JSON and its body', (url) => {
  const request = requestTo(url);
  const { method, headers, body } = request;
  const expected = createHash('sha256')
    .update(`${JSON.stringify([method, url, headers])}\n`)
    .update(body ?? '')
    .digest('hex');

  expect(requestDigestOf(request)).toBe(expected);
});

test.for(urls)('filters read the whole projection of a request to %s', (url) => {
  const { projection } = requestTo(url);

  expect(projectionJson(projection)).toBe(JSON.stringify(projection));
});
