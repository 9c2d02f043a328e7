import { createHash } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { authorizationOf, signAws } from './aws-signature.ts';
import type { AwsKey } from './aws-signature.ts';

const emptyHash = createHash('sha256').update('').digest('hex');

type Vector = readonly [
  name: string,
  request: {
    method: string;
    path: string;
    headers?: readonly (readonly [string, string])[];
    body?: string;
  },
  signature: string,
];

/** AWS publishes these requests, keys, times and signatures. The keys give access to nothing. */
const suiteKey: AwsKey = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
  region: 'us-east-1',
  service: 'service',
};
const formMediaType = 'application/x-www-form-urlencoded';
const publishedVectors: Vector[] = [
  [
    'get-vanilla',
    { method: 'GET', path: '/' },
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  [
    'get-slashes',
    { method: 'GET', path: '//' },
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  [
    'get-vanilla-query-order-key-case',
    { method: 'GET', path: '/?Param2=value2&Param1=value1' },
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'post-vanilla',
    { method: 'POST', path: '/' },
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  [
    'post-x-www-form-urlencoded',
    {
      method: 'POST',
      path: '/',
      headers: [['content-type', formMediaType]],
      body: 'Param1=value1',
    },
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
];

describe('the signature is equal to that of the published test suite', () => {
  test.for(publishedVectors)('%s', ([, { method, path, headers = [], body = '' }, signature]) => {
    const signed = authorizationOf(
      {
        method,
        url: `https://example.amazonaws.com${path}`,
        headers: [
          ...headers,
          ['host', 'example.amazonaws.com'],
          ['x-amz-date', '20150830T123600Z'],
        ],
        bodyHash: createHash('sha256').update(body).digest('hex'),
      },
      { key: suiteKey, nowMs: Date.UTC(2015, 7, 30, 12, 36) },
    );
    expect(signed.signature).toBe(signature);
  });
});

const s3Key: AwsKey = {
  ...suiteKey,
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  service: 's3',
};
const s3: Vector[] = [
  [
    'GET object',
    { method: 'GET', path: '/test.txt', headers: [['range', 'bytes=0-9']] },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'PUT object',
    {
      method: 'PUT',
      path: '/test$file.text',
      headers: [
        ['date', 'Fri, 24 May 2013 00:00:00 GMT'],
        ['x-amz-storage-class', 'REDUCED_REDUNDANCY'],
      ],
      body: 'Welcome to Amazon S3.',
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'GET bucket lifecycle',
    { method: 'GET', path: '/?lifecycle' },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'list objects',
    { method: 'GET', path: '/?max-keys=2&prefix=J' },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
];
const s3Time = Date.UTC(2013, 4, 24);
const s3Url = (path: string) => `https://examplebucket.s3.amazonaws.com${path}`;

describe('the signature is equal to that in the documentation of S3', () => {
  test.for(s3)('%s', ([, { method, path, headers = [], body }, signature]) => {
    const bytes = body === undefined ? null : Buffer.from(body);
    const signed = signAws({ method, url: s3Url(path), headers, body: bytes }, s3Key, s3Time);
    expect(signed.signature).toBe(signature);
  });
});

describe('a signed request', () => {
  const sign = (url: string, key: Partial<AwsKey> = {}, headers: [string, string][] = []) =>
    signAws({ method: 'GET', url, headers, body: null }, { ...s3Key, ...key }, s3Time);

  test('has its path and query in exactly the spelling that is signed', () => {
    const { url, signature } = sign(s3Url('/a%2fb/(c)/d:e?x=a+b&y=%c3%a9&z&w=~'));
    expect(url).toBe(s3Url('/a%2Fb/%28c%29/d%3Ae?x=a%20b&y=%C3%A9&z&w=~'));
    expect(sign(url)).toMatchObject({ url, signature });
  });

  test('escapes non-ASCII letters that are equal to ASCII letters when case is ignored', () => {
    // The Kelvin sign and the long s, which an `ignoreCase` pattern matches as k and s.
    const { url } = signAws(
      { method: 'GET', url: 'https://a.example/\u212a/\u017f', headers: [], body: null },
      s3Key,
      s3Time,
    );
    expect(url).toBe('https://a.example/%E2%84%AA/%C5%BF');
  });

  test('has the headers of the signature, and no header of the caller in their place', () => {
    const { headers } = sign(s3Url('/'), { sessionToken: 'CANARY-session' }, [
      ['authorization', 'mine'],
      ['x-amz-date', '20000101T000000Z'],
      ['x-amz-security-token', 'mine'],
      ['user-agent', 'agent-action-gateway'],
    ]);
    expect(headers.slice(0, -1)).toEqual([
      ['user-agent', 'agent-action-gateway'],
      ['x-amz-content-sha256', emptyHash],
      ['x-amz-date', '20130524T000000Z'],
      ['x-amz-security-token', 'CANARY-session'],
    ]);
    const [name, value] = headers.at(-1) ?? [];
    expect(name).toBe('authorization');
    expect(value).toContain(
      'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,',
    );
    expect(value).not.toContain('CANARY');
  });

  test('has another signature when any signed part is different', () => {
    const { signature } = sign(s3Url('/a'));
    const otherSignatures = [
      sign(s3Url('/b')),
      sign(s3Url('/a?x')),
      sign('https://other.s3.amazonaws.com/a'),
      sign(s3Url('/a'), { region: 'eu-west-1' }),
      sign(s3Url('/a'), { service: 'lambda' }),
      sign(s3Url('/a'), { secretAccessKey: 'CANARY-other' }),
      sign(s3Url('/a'), {}, [['range', 'bytes=0-9']]),
    ].map((each) => each.signature);
    expect(new Set([signature, ...otherSignatures]).size).toBe(otherSignatures.length + 1);
  });
});
