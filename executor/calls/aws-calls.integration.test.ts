import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { CredentialDerivation } from '#contracts/credential-derivation';
import type { Call } from '#contracts/call';
import { refusalOfSignature } from '../derived-credentials/aws.testing.ts';
import type { AwsAccount } from '../derived-credentials/aws.testing.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

type Hit = World['upstream']['hits'][number];
type KnownAwsKey = { secret: string; token?: string; isExpired?: boolean };

let world: World;
/** The keys that the simulated AWS accepts. */
let keys: Map<string, KnownAwsKey>;
let clockMs: number;
/** Changes a request before the simulated AWS checks it. */
let tamperHit: (hit: Hit) => Hit;
/** The error codes of the simulated AWS, `undefined` for each request that it accepted. */
let answeredCodes: (string | undefined)[];
const account: AwsAccount = {
  get keys() {
    return keys;
  },
  region: 'eu-west-1',
  service: 's3',
  now: () => Date.now() + clockMs,
};

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  keys = new Map();
  clockMs = 0;
  answeredCodes = [];
  tamperHit = (hit) => hit;
  world.upstream.reset();
  world.upstream.answer((hit, reply) => {
    const received = tamperHit(hit);
    const code = refusalOfSignature({ ...received, body: Buffer.from(received.body) }, account);
    answeredCodes.push(code);
    if (code === undefined) {
      reply.setHeader('content-type', 'application/json');
      reply.end(JSON.stringify({ headers: received.headers }));
      return;
    }
    reply.statusCode = code === 'AuthorizationHeaderMalformed' ? 400 : 403;
    reply.setHeader('content-type', 'application/xml');
    // In such an error, AWS repeats the request that it received.
    reply.end(
      `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No: ${code}.</Message><CanonicalRequest>${JSON.stringify(received.headers)}</CanonicalRequest><CanonicalRequestBytes>${spacedHexOf(JSON.stringify(received.headers))}</CanonicalRequestBytes><SignatureProvided>${signatureIn(received).toUpperCase()}</SignatureProvided></Error>`,
    );
  });
});

function signatureIn({ headers }: Pick<Hit, 'headers'>): string {
  return /[0-9a-f]{64}$/.exec(headers.authorization ?? '')?.[0] ?? '';
}

function spacedHexOf(text: string): string {
  return Array.from(Buffer.from(text), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

let count = 0;

/** Stores a key. The simulated AWS has the same key, except for what `keyAtAws` changes. */
async function storeAwsKey(
  parts: { session_token?: string; region?: string } = {},
  keyAtAws?: Partial<KnownAwsKey>,
) {
  count += 1;
  const name = `aws-${count}`;
  const access_key_id = `AKIAEXAMPLE${count}`;
  const secret_access_key = canary();
  const { session_token: token } = parts;
  keys.set(access_key_id, {
    secret: secret_access_key,
    ...(token === undefined ? {} : { token }),
    ...keyAtAws,
  });
  const value = JSON.stringify({ access_key_id, secret_access_key, ...parts });
  const body = { name, value, allowed_hosts: [world.upstream.host] };
  const { id } = await world.gateway.createSecret({ principal: world.admin, body }, testDeadline());
  return { id, name, secrets: [secret_access_key, ...(token === undefined ? [] : [token])] };
}

type StoredAwsKey = Awaited<ReturnType<typeof storeAwsKey>>;

async function execute(
  call: Call,
  { id, name }: StoredAwsKey,
  region = 'eu-west-1',
  secret = ['secret_access_key', 'session_token'],
) {
  const derivation: CredentialDerivation = {
    kind: 'aws_sigv4',
    required: ['access_key_id', 'secret_access_key'],
    secret,
    service: 's3',
    region,
  };
  const injection = {
    kind: 'secret' as const,
    credentialId: id,
    credentialName: name,
    in: 'header' as const,
    key: 'Authorization',
    prefix: '',
    encoding: 'derived' as const,
    derivation,
  };
  const permit = world.permitOf(call, { injections: [injection] });
  const done = await world.gateway.execute({ permit, call, options, context }, testDeadline());
  if (done.kind !== 'called') throw new Error('suspended');
  return done.result;
}
const createReadCall = (id = 'a') => world.actionCall('get', { id });
const createWriteCall = () => world.actionCall('create', { title: 'ä', password: 'b', room: 'c' });
const createRawCall = () =>
  world.rawCall({
    service: 'acme',
    method: 'PUT',
    target: '/things/a$b(c)/d%20e+f:g?x=1&acl&a=é',
    headers: { 'x-amz-acl': 'private', 'content-type': 'text/plain', Authorization: 'mine' },
    body: 'Grüße',
  });

describe('a call with an AWS signature', () => {
  test.for<[what: string, call: () => Call]>([
    ['a read', createReadCall],
    ['a read with signs in its path', () => createReadCall("a/b c+d(e)*'!:é")],
    ['a write', createWriteCall],
    ['a call by method and path', createRawCall],
  ])('is accepted by AWS: %s', async ([, call]) => {
    const secret = await storeAwsKey();
    const result = await execute(call(), secret);
    expect(answeredCodes).toEqual([undefined]);
    expect(result).toMatchObject({ status_code: 200 });
    // The signature must not occur either, because it would allow sending the same request again.
    const text = JSON.stringify(result);
    const signature = /[0-9a-f]{64}$/.exec(world.upstream.hits[0]?.headers.authorization ?? '');
    expect(signature).not.toBeNull();
    for (const each of [...secret.secrets, signature?.[0] ?? '']) expect(text).not.toContain(each);
  });

  test('carries the session token of a temporary key, and no answer and no event contains the token', async () => {
    const secret = await storeAwsKey({ session_token: canary() });
    const result = await execute(createReadCall(), secret);
    expect(answeredCodes).toEqual([undefined]);
    const resultAndEvents = JSON.stringify([result, world.announced]);
    for (const each of secret.secrets) expect(resultAndEvents).not.toContain(each);
  });

  test('keeps the session token out of the answer even when the template does not declare it as secret', async () => {
    const secret = await storeAwsKey({ session_token: canary() });
    const result = await execute(createReadCall(), secret, 'eu-west-1', ['secret_access_key']);
    expect(answeredCodes).toEqual([undefined]);
    for (const each of secret.secrets) expect(JSON.stringify(result)).not.toContain(each);
  });

  test('is signed anew for a retry and for a redirect', async () => {
    const secret = await storeAwsKey();
    const check = (hit: Hit) => {
      const body = Buffer.from(hit.body);
      answeredCodes.push(refusalOfSignature({ ...hit, body }, account));
    };
    world.upstream.answer((hit, reply) => {
      check(hit);
      const { length } = world.upstream.hits;
      if (length === 1) {
        reply.writeHead(503, { 'retry-after': '0' });
      } else if (length === 2) {
        reply.writeHead(307, { location: '/things/a?versionId=2' });
      }
      reply.end('{}');
    });
    expect(await execute(createReadCall(), secret)).toMatchObject({ status_code: 200 });
    expect(world.upstream.hits.map(({ url }) => url)).toEqual([
      '/things/a',
      '/things/a',
      '/things/a?versionId=2',
    ]);
    expect(answeredCodes).toEqual([undefined, undefined, undefined]);
  });

  test('does not follow a redirect to another host', async () => {
    const secret = await storeAwsKey();
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(307, { location: 'http://127.0.0.2:1/things/a' });
      reply.end();
    });
    expect(await execute(createReadCall(), secret)).toMatchObject({ status_code: 307 });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test.for<[what: string, code: string, change: () => Promise<[StoredAwsKey, region?: string]>]>([
    [
      'another secret key',
      'SignatureDoesNotMatch',
      async () => [await storeAwsKey({}, { secret: canary() })],
    ],
    [
      'another region',
      'AuthorizationHeaderMalformed',
      async () => [await storeAwsKey(), 'us-east-1'],
    ],
    [
      'a session token that has expired',
      'ExpiredToken',
      async () => [await storeAwsKey({ session_token: canary() }, { isExpired: true })],
    ],
    [
      'a header that was changed on the way',
      'SignatureDoesNotMatch',
      async () => {
        tamperHit = (hit) => ({ ...hit, headers: { ...hit.headers, accept: 'text/html' } });
        return [await storeAwsKey()];
      },
    ],
    [
      'a path that was changed on the way',
      'SignatureDoesNotMatch',
      async () => {
        tamperHit = (hit) => ({ ...hit, url: '/things/b' });
        return [await storeAwsKey()];
      },
    ],
  ])('reports that AWS refuses the credential: %s', async ([, code, change]) => {
    const [secret, region] = await change();
    const result = await execute(createReadCall(), secret, region);
    expect(answeredCodes).toEqual([code]);
    expect(result.failure).toEqual({
      kind: 'credential_refused',
      message: `No: ${code}.`,
      nothing_done: true,
      secret: { name: secret.name },
    });
    const resultAndEvents = JSON.stringify([result, world.announced]).toLowerCase();
    const signature = signatureIn(world.upstream.hits[0] ?? { headers: {} });
    expect(signature).not.toBe('');
    for (const each of [...secret.secrets, signature]) {
      expect(resultAndEvents).not.toContain(each.toLowerCase());
      expect(resultAndEvents).not.toContain(spacedHexOf(each));
    }
  });

  test.for([20, -20])('reports that the clock is wrong by %i minutes', async (minutes) => {
    clockMs = minutes * 60_000;
    const result = await execute(createReadCall(), await storeAwsKey());
    expect(result.failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('The clock of the gateway differs'),
      nothing_done: true,
    });
  });

  test('takes the region from the secret when the address does not contain it', async () => {
    await execute(createReadCall(), await storeAwsKey({ region: 'eu-west-1' }), '{region}');
    expect(answeredCodes).toEqual([undefined]);
    const secret = await storeAwsKey();
    await expect(execute(createReadCall(), secret, '{region}')).rejects.toMatchObject({
      code: 'credential_missing',
      details: { secret: secret.name, parts: ['region'] },
    });
    expect(world.upstream.hits).toHaveLength(1);
  });

  test.for<[what: string, parts: object]>([
    ['without a key', { access_key_id: 'CANARY-one' }],
    ['with an id that is none', { access_key_id: 'a/b', secret_access_key: 'CANARY-one' }],
    [
      'with a token of two lines',
      { access_key_id: 'a', secret_access_key: 'CANARY-one', session_token: 'CANARY-\ntwo' },
    ],
  ])('is not sent with a secret %s', async ([, parts]) => {
    const name = `aws-${(count += 1)}`;
    const value = JSON.stringify(parts);
    const body = { name, value, allowed_hosts: [world.upstream.host], as_is: true };
    const { id } = await world.gateway.createSecret(
      { principal: world.admin, body },
      testDeadline(),
    );
    const error: unknown = await execute(createReadCall(), { id, name, secrets: [] }).catch(
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'credential_missing', details: { secret: name } });
    expect(JSON.stringify(error)).not.toContain('CANARY');
    expect(world.upstream.hits).toEqual([]);
  });
});
