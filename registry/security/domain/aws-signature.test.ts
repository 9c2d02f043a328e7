import { expect, test } from 'vitest';

import { compileExample } from '../../compiler/domain/compile-example.testing.ts';

type SchemeFields = Record<string, unknown>;

const grant = { type: 'aws_sigv4', service: 's3', region: '{region}' };
const parts = [
  { name: 'access_key_id', label: 'Access key ID' },
  { name: 'secret_access_key', label: 'Secret access key' },
  { name: 'session_token', label: 'Session token', optional: true },
];
const scheme: SchemeFields = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  default_secret_name: 'aws',
  parts,
  grant,
};

function compileWith(schemeFields: SchemeFields) {
  const { template, report } = compileExample((document) => {
    document['servers'] = [
      { url: 'https://s3.{region}.example.com', variables: { region: { default: 'eu-west-1' } } },
    ];
    document.components.securitySchemes['token'] = schemeFields;
  });
  return { method: template?.auth[0], errors: report.errors.map(({ code }) => code) };
}

test('a scheme that signs requests becomes a secret of several parts', () => {
  const { method, errors } = compileWith(scheme);
  expect(errors).toEqual([]);
  expect(method).toEqual({
    type: 'apiKey',
    scheme: 'token',
    in: 'header',
    name: 'Authorization',
    prefix: '',
    encoding: 'derived',
    defaultSecretName: 'aws',
    parts: [
      { ...parts[0], secret: false, optional: false },
      { ...parts[1], secret: true, optional: false },
      { ...parts[2], secret: true, optional: true },
    ],
    derivation: {
      kind: 'aws_sigv4',
      service: 's3',
      region: '{region}',
      required: ['access_key_id', 'secret_access_key'],
      secret: ['secret_access_key', 'session_token'],
    },
  });
});

test.for<[what: string, change: SchemeFields]>([
  ['without a secret key', { parts: parts.slice(0, 1) }],
  ['without a service', { grant: { ...grant, service: undefined } }],
  ['without a region', { grant: { ...grant, region: undefined } }],
  ['with a service that is no name', { grant: { ...grant, service: 'S3/x' } }],
  ['with a region that is no name', { grant: { ...grant, region: 'eu west' } }],
  ['with a region that nothing names', { grant: { ...grant, region: '{zone}' } }],
  ['in another header', { name: 'X-Signature' }],
  ['in the query', { in: 'query' }],
  ['with an unknown field', { grant: { ...grant, key: 'x' } }],
  ['as another kind of grant', { grant: { type: 'client_credentials' } }],
])('a scheme that signs requests is refused %s', ([, change]) => {
  expect(compileWith({ ...scheme, ...change }).errors).not.toEqual([]);
});
