import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  createAuthorizationRequest,
  redirectUri,
  startOauthWorld,
} from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';

/**
 * The number of random requests. For a longer run: `OAUTH_HOSTILE_RUNS=5000 npx vitest run
 * --project integration auth/oauth/hostile`.
 */
const runsCount = Number(process.env['OAUTH_HOSTILE_RUNS'] ?? 150);

let world: OauthWorld;
let person: SignedIn;
let clientId: string;
beforeAll(async () => {
  world = await startOauthWorld();
  person = await world.person();
  clientId = await world.register();
});
afterAll(() => world[Symbol.asyncDispose]());

const hostileNames = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'state',
  'scope',
  'resource',
  'prompt',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
  'registration',
  'grant_type',
  'code',
  'code_verifier',
  'refresh_token',
  'token',
  'token_type_hint',
  'client_secret',
  'client_assertion',
  'claims',
  'max_age',
  'id_token_hint',
  'nonce',
  'id',
  '__proto__',
  'constructor',
  'access_token',
  'dpop_jkt',
  'web_message_uri',
  'login_hint',
];
const hostileValues = [
  '',
  ' ',
  '\0',
  '\u0000x',
  '\ud800',
  '\r\nset-cookie: x=1',
  '<script>alert(1)</script>',
  "' or 1=1 --",
  '{}',
  '[]',
  'null',
  '__proto__',
  '%00',
  '%',
  '../../etc/passwd',
  '\u202e',
  'https://evil.example/',
  'http://169.254.169.254/',
  'javascript:alert(1)',
  '//evil.example',
  'none',
  'consent',
  'login',
  'mcp',
  'user',
  'openid',
  'S256',
  'plain',
  'code',
  'query',
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'x'.repeat(3_000),
  '-1',
  '1e99',
];
const arbitraryValue = fc.oneof(
  fc.constantFrom(...hostileValues),
  fc.string(),
  fc.string({ unit: 'binary' }),
);
const arbitraryParameters = fc.array(fc.tuple(fc.constantFrom(...hostileNames), arbitraryValue), {
  maxLength: 8,
});

/** Expects no server error, no redirect to another site, and no internal details in the answer. */
async function expectWellDefined(reply: Response): Promise<void> {
  const text = await reply.text();
  expect([reply.status, text]).toSatisfy(([status]) => status < 500);
  expect(text).not.toMatch(/node_modules|at .+\.(js|ts):\d|select |insert |<script/i);
  const location = reply.headers.get('location');
  if (location === null) return;
  const isOwnOrigin = new URL(location, world.url).origin === world.url;
  expect(isOwnOrigin || location.startsWith('http://127.0.0.1'), location).toBe(true);
}

test(
  'an authorization request with arbitrary parameters gets a well-defined answer',
  { timeout: 600_000 },
  async () => {
    const validParameters = new URL(
      createAuthorizationRequest(world.url, { client_id: clientId }).url,
    ).searchParams;
    await fc.assert(
      fc.asyncProperty(
        arbitraryParameters,
        fc.boolean(),
        fc.boolean(),
        async (parameters, isSane, isSignedIn) => {
          const query = new URLSearchParams(isSane ? [...validParameters] : []);
          for (const [name, each] of parameters) {
            if (isSane) query.set(name, each);
            else query.append(name, each);
          }
          const headers = isSignedIn ? { cookie: `gateway_session=${person.sessionToken}` } : {};
          for (const path of ['/oauth/authorize', '/oauth/consent']) {
            const url = `${world.url}${path}?${query.toString()}`;
            await expectWellDefined(await fetch(url, { redirect: 'manual', headers }));
          }
        },
      ),
      { numRuns: runsCount },
    );
  },
);

test(
  'a token or revocation request with arbitrary parameters gets a well-defined answer',
  { timeout: 600_000 },
  async () => {
    const validParameters = {
      client_id: clientId,
      redirect_uri: redirectUri,
      grant_type: 'authorization_code',
    };
    await fc.assert(
      fc.asyncProperty(arbitraryParameters, fc.boolean(), async (parameters, isSane) => {
        const form = new URLSearchParams(isSane ? validParameters : {});
        for (const [name, each] of parameters) form.append(name, each);
        for (const path of ['/oauth/token', '/oauth/revoke']) {
          await expectWellDefined(
            await fetch(`${world.url}${path}`, { method: 'POST', body: form }),
          );
        }
      }),
      { numRuns: runsCount },
    );
  },
);

test(
  'a registration with arbitrary metadata gets a well-defined answer without a secret',
  { timeout: 600_000 },
  async () => {
    const metadata = fc.dictionary(
      fc.constantFrom(
        'redirect_uris',
        'client_name',
        'software_id',
        'grant_types',
        '__proto__',
        'jwks',
      ),
      fc.oneof(
        arbitraryValue,
        fc.array(arbitraryValue, { maxLength: 3 }),
        fc.jsonValue(),
        fc.constant([redirectUri]),
      ),
    );
    await fc.assert(
      fc.asyncProperty(metadata, async (body) => {
        const reply = await fetch(`${world.url}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect(await reply.clone().text()).not.toContain('client_secret');
        await expectWellDefined(reply);
      }),
      { numRuns: runsCount },
    );
  },
);
