import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import type { TokenDerivation } from '#contracts/credential-derivation';
import { openEgress, parseEgressAllow } from '#egress';
import type { ErrorCode } from '#errors';
import { createCanary } from '../../test/support/canaries.ts';
import { createDerivedTokens } from './derived-tokens.ts';
import type { DerivableSecret } from './derived-tokens.ts';
import {
  createKeyPair,
  grantAnswerOf,
  findAssertionProblem,
  readAssertion,
  startMachineProvider,
  startTokenEndpoint,
} from './providers.testing.ts';

let stack: AsyncDisposableStack;
/** The time in milliseconds, which the tests set. */
let now: number;
let tokens: ReturnType<typeof createDerivedTokens>;
beforeEach(() => {
  stack = new AsyncDisposableStack();
  now = 0;
  const egress = stack.use(openEgress({ allow: parseEgressAllow('127.0.0.1/32') }));
  tokens = createDerivedTokens({ egress, clock: { now: () => now } });
});
afterEach(() => stack.disposeAsync());

type Derivation<Kind extends TokenDerivation['kind']> = Extract<TokenDerivation, { kind: Kind }>;

function clientCredentialsOf(
  tokenUrl: string,
  more: Partial<Derivation<'client_credentials'>> = {},
): TokenDerivation {
  return {
    kind: 'client_credentials',
    tokenUrl,
    parameters: {},
    body: 'form',
    scopes: [],
    required: ['client_id'],
    secret: ['client_secret', 'private_key'],
    authentication: 'client_secret_basic',
    ...more,
  };
}

function secretOf(
  derivation: TokenDerivation,
  parts: object | string,
  more: Partial<DerivableSecret> = {},
): DerivableSecret {
  const value = typeof parts === 'string' ? parts : JSON.stringify(parts);
  return {
    orgId: 'org',
    secretId: 'one',
    name: 'app',
    version: 1,
    derivation,
    reveal: () => value,
    ...more,
  };
}

const openToken = (secret: DerivableSecret, refused?: number) =>
  tokens.open(secret, { refused }, deadlineIn(10_000));
const refusalWith = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

describe('client credentials', () => {
  test.for(['client_secret_basic', 'client_secret_post'] as const)(
    'get a token with the scopes of the template by %s',
    async (authentication) => {
      const client_secret = `${createCanary()}:+/=`;
      const provider = stack.use(
        await startMachineProvider([
          { client_id: 'machine', client_secret, token_endpoint_auth_method: authentication },
        ]),
      );
      const derivation = clientCredentialsOf(provider.tokenUrl, {
        authentication,
        scopes: ['notes.read', 'notes.write'],
      });
      const token = await openToken(secretOf(derivation, { client_id: 'machine', client_secret }));
      expect(await provider.look(token.value)).toEqual({
        clientId: 'machine',
        scope: 'notes.read notes.write',
      });
    },
  );

  test('get a token by an assertion that the provider verifies', async () => {
    const { pem, publicKey } = createKeyPair();
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' };
    const provider = stack.use(
      await startMachineProvider([
        {
          client_id: 'machine',
          token_endpoint_auth_method: 'private_key_jwt',
          jwks: { keys: [jwk] } as never,
        },
      ]),
    );
    const derivation = clientCredentialsOf(provider.tokenUrl, {
      authentication: 'private_key_jwt',
      scopes: ['notes.read', 'notes.write'],
    });
    const parts = { client_id: 'machine', private_key: pem, key_id: 'one', scopes: 'notes.read' };
    const token = await openToken(secretOf(derivation, parts));
    // The owner chose one of the scopes of the template.
    expect(await provider.look(token.value)).toEqual({ clientId: 'machine', scope: 'notes.read' });

    const otherSecret = secretOf(
      derivation,
      { ...parts, private_key: createKeyPair().pem },
      { version: 2 },
    );
    await expect(openToken(otherSecret)).rejects.toEqual(
      refusalWith('reauth_required', { secret: 'app' }),
    );
  });

  test('are refused with the provider’s message, and the provider gets no further request for ten seconds', async () => {
    const client_secret = createCanary();
    const provider = stack.use(
      await startMachineProvider([{ client_id: 'machine', client_secret: createCanary() }]),
    );
    const secret = secretOf(clientCredentialsOf(provider.tokenUrl), {
      client_id: 'machine',
      client_secret,
    });
    const { host } = provider;
    const expected = refusalWith('reauth_required', {
      secret: 'app',
      host,
      reason: 'invalid_client',
    });
    await expect(openToken(secret)).rejects.toEqual(expected);
    await expect(openToken(secret)).rejects.toEqual(expected);
    expect(provider.requests).toHaveLength(1);
    now = 10_001;
    await expect(openToken(secret)).rejects.toEqual(expected);
    expect(provider.requests).toHaveLength(2);
  });

  test('are sent with the template’s additional parameters, which contain parts of the secret', async () => {
    const endpoint = stack.use(await startTokenEndpoint(() => grantAnswerOf()));
    const derivation = clientCredentialsOf(`${endpoint.origin}/{account_id}/token`, {
      parameters: {
        grant_type: 'account_credentials',
        account_id: '{account_id}',
        absent: '{none}',
      },
      body: 'json',
    });
    const client_secret = createCanary();
    await openToken(secretOf(derivation, { client_id: 'a', client_secret, account_id: 'acc-1' }));
    const [request] = endpoint.requests;
    expect(request?.url).toBe('/acc-1/token');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from(`a:${client_secret}`).toString('base64')}`,
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      grant_type: 'account_credentials',
      account_id: 'acc-1',
    });
  });

  test.for<[what: string, parts: object | string]>([
    ['no JSON object', 'CANARY-one'],
    ['a list', '["CANARY-one"]'],
    ['no such part', { client_secret: 'CANARY-one' }],
    ['an empty part', { client_id: '' }],
    ['a part that would change the path', { client_id: '../x' }],
    ['a part that would change the host', { client_id: 'a/b' }],
    ['no private key', { client_id: 'a', private_key: 'CANARY-one' }],
    ['a short key', { client_id: 'a', private_key: createKeyPair('pkcs8', 1_024).pem }],
    ['no known scope', { client_id: 'a', private_key: createKeyPair().pem, scopes: 'other' }],
  ])('are refused without a request for a secret with %s', async ([, parts]) => {
    const endpoint = stack.use(await startTokenEndpoint(() => grantAnswerOf()));
    const derivation = clientCredentialsOf(`${endpoint.origin}/{client_id}`, {
      authentication: 'private_key_jwt',
      scopes: ['read'],
    });
    const error: unknown = await openToken(secretOf(derivation, parts)).catch((thrown) => thrown);
    expect(error).toEqual(refusalWith('credential_missing', { secret: 'app' }));
    expect(JSON.stringify(error)).not.toContain('CANARY');
    expect(endpoint.requests).toEqual([]);
  });

  test('are removed from the provider’s answer', async () => {
    // The value is in lower case, because only an error that is a plain word is shown.
    const client_secret = createCanary().toLowerCase();
    const endpoint = stack.use(
      await startTokenEndpoint(() => ({ status: 400, body: { error: client_secret } })),
    );
    const secret = secretOf(clientCredentialsOf(endpoint.tokenUrl), {
      client_id: 'a',
      client_secret,
    });
    await expect(openToken(secret)).rejects.toEqual(
      refusalWith('reauth_required', { reason: '[REDACTED]' }),
    );
  });

  test.for([500, 503, 429])('are tried again after status %i', async (status) => {
    let isUp = false;
    const endpoint = stack.use(
      await startTokenEndpoint(() =>
        isUp ? grantAnswerOf() : { status, body: { error: 'invalid_client' } },
      ),
    );
    const parts = { client_id: 'a', client_secret: createCanary() };
    const secret = secretOf(clientCredentialsOf(endpoint.tokenUrl), parts);
    await expect(openToken(secret)).rejects.toEqual(refusalWith('upstream_incomplete'));
    isUp = true;
    await expect(openToken(secret)).resolves.toBeDefined();
  });
});

describe('a JWT bearer', () => {
  const { pem, publicKey } = createKeyPair();
  const parts = { client_email: 'bot@example.com', private_key: pem, private_key_id: 'k1' };
  const startProvider = async (subject?: string) => {
    const problems: (string | undefined)[] = [];
    const endpoint = stack.use(
      await startTokenEndpoint(({ body }) => {
        const form = new URLSearchParams(body);
        const assertion = readAssertion(form.get('assertion') ?? '', publicKey);
        const expected = {
          iss: 'bot@example.com',
          aud: 'https://id.example.com/token',
          ...(subject === undefined ? {} : { sub: subject }),
          secondsMax: 180,
        };
        const isGrant =
          form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
          assertion.claims['scope'] === 'a b' &&
          assertion.header['kid'] === 'k1';
        const problem = isGrant ? findAssertionProblem(assertion, expected) : 'grant';
        problems.push(problem);
        return problem === undefined
          ? grantAnswerOf()
          : { status: 400, body: { error: 'invalid_grant', error_description: problem } };
      }),
    );
    const derivation: TokenDerivation = {
      kind: 'jwt_bearer',
      tokenUrl: endpoint.tokenUrl,
      parameters: {},
      body: 'form',
      scopes: ['a', 'b'],
      required: ['client_email', 'private_key'],
      secret: ['private_key'],
      issuer: '{client_email}',
      subject: '{subject}',
      audience: 'https://id.example.com/token',
    };
    return { derivation, problems };
  };

  test.for<[what: string, change: object, subject?: string]>([
    ['of the account itself', {}],
    ['of the person that it acts as', { subject: 'ann@example.com' }, 'ann@example.com'],
    // A key file also contains a host, which must not decide where the assertion goes.
    ['of a key file', { type: 'service_account', token_uri: 'https://evil.example/token' }],
    ['of a key whose line breaks a form took away', { private_key: pem.replaceAll('\n', ' ') }],
    ['of a key that was escaped twice', { private_key: pem.replaceAll('\n', '\\n') }],
  ])('is an assertion that the provider accepts: %s', async ([, change, subject]) => {
    const { derivation, problems } = await startProvider(subject);
    await openToken(secretOf(derivation, { ...parts, ...change }));
    expect(problems).toEqual([undefined]);
  });

  test('is refused when the provider does not let it act for the person', async () => {
    const { derivation } = await startProvider('ann@example.com');
    const secret = secretOf(derivation, { ...parts, subject: 'eve@example.com' });
    await expect(openToken(secret)).rejects.toEqual(
      refusalWith('reauth_required', { reason: 'invalid_grant' }),
    );
  });
});

describe('an installation of a GitHub App', () => {
  const { pem, publicKey } = createKeyPair('pkcs1');
  const startProvider = async () => {
    const endpoint = stack.use(
      await startTokenEndpoint(({ url, headers }) => {
        const jwt = headers.authorization?.replace('Bearer ', '') ?? '';
        const assertion = readAssertion(jwt, publicKey);
        const { iat, exp } = assertion.claims as { iat: number; exp: number };
        const now = Date.now() / 1_000;
        if (assertion.claims['iss'] !== '123' || iat > now || exp > now + 600) {
          return { status: 401, body: { message: 'A JSON web token could not be decoded' } };
        }
        if (url !== '/app/installations/42/access_tokens') {
          return { status: 404, body: { message: 'Not Found' } };
        }
        const expires_at = new Date(Date.now() + 3_600_000).toISOString();
        return { status: 201, body: { token: createCanary(), expires_at } };
      }),
    );
    const derivation: TokenDerivation = {
      kind: 'github_app',
      tokenUrl: `${endpoint.origin}/app/installations/{installation_id}/access_tokens`,
      parameters: {},
      body: 'form',
      scopes: [],
      required: ['app_id', 'installation_id', 'private_key'],
      secret: ['private_key'],
    };
    return { derivation, requests: endpoint.requests };
  };
  const parts = { app_id: 123, installation_id: 42, private_key: pem };

  test('gives a token that is used until a minute before it expires', async () => {
    const { derivation, requests } = await startProvider();
    const first = await openToken(secretOf(derivation, parts));
    expect(first.value).toMatch(/^CANARY-/);
    now = 3_500_000;
    expect(await openToken(secretOf(derivation, parts))).toEqual(first);
    now = 3_541_000;
    expect(await openToken(secretOf(derivation, parts))).not.toEqual(first);
    expect(requests[0]?.body).toBe('');
  });

  test.for<[what: string, change: object, reason: string]>([
    ['another app', { app_id: 124 }, 'status 401'],
    ['no such installation', { installation_id: 43 }, 'status 404'],
  ])('is refused for %s', async ([, change, reason]) => {
    const { derivation } = await startProvider();
    await expect(openToken(secretOf(derivation, { ...parts, ...change }))).rejects.toEqual(
      refusalWith('reauth_required', { reason }),
    );
  });
});

describe('a derived token', () => {
  const startProvider = async (seconds?: number) => {
    const endpoint = stack.use(
      await startTokenEndpoint(() => grantAnswerOf(createCanary(), seconds)),
    );
    const parts = { client_id: 'a', client_secret: createCanary() };
    const secret = secretOf(clientCredentialsOf(endpoint.tokenUrl), parts);
    return { secret, requests: endpoint.requests };
  };

  test('is requested once for all calls', async () => {
    const { secret, requests } = await startProvider();
    const openedTokens = await Promise.all(Array.from({ length: 20 }, () => openToken(secret)));
    expect(new Set(openedTokens.map(({ value }) => value)).size).toBe(1);
    expect(requests).toHaveLength(1);
  });

  test.for([
    ['a minute before its end', 600, 540_000],
    ['half its life before its end', 20, 10_000],
    ['after an hour', 86_400, 3_540_000],
  ] as const)('is replaced by a new one %s', async ([, seconds, lastMs]) => {
    const { secret, requests } = await startProvider(seconds);
    const first = await openToken(secret);
    now = lastMs - 1;
    expect(await openToken(secret)).toEqual(first);
    now = lastMs;
    expect(await openToken(secret)).not.toEqual(first);
    expect(requests).toHaveLength(2);
  });

  test('is replaced when the upstream refuses it, but not within 30 seconds', async () => {
    const { secret } = await startProvider();
    const first = await openToken(secret);
    expect(await openToken(secret, first.serial)).toEqual(first);
    now = 30_001;
    const second = await openToken(secret, first.serial);
    expect(second).not.toEqual(first);
    // Another call that was refused with the first token gets the second.
    expect(await openToken(secret, first.serial)).toEqual(second);
  });

  test.for<[what: string, change: Partial<DerivableSecret>]>([
    ['org', { orgId: 'other' }],
    ['secret', { secretId: 'other' }],
    ['version of the secret', { version: 2 }],
  ])('is not used for another %s', async ([, change]) => {
    const { secret } = await startProvider();
    const [one, otherSecret] = [await openToken(secret), await openToken({ ...secret, ...change })];
    expect(otherSecret.value).not.toBe(one.value);
  });

  test('is not used for a derivation with other scopes', async () => {
    const { secret } = await startProvider();
    const derivation = { ...secret.derivation, scopes: ['more'] };
    const [one, otherSecret] = [
      await openToken(secret),
      await openToken({ ...secret, derivation }),
    ];
    expect(otherSecret.value).not.toBe(one.value);
  });
});
