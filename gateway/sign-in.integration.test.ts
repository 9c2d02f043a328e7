import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { freePort } from '../test/e2e/support/port.ts';
import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import { user } from './principals.testing.ts';
import type { RunningGateway } from './start.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway({ RATE_SIGN_IN_PER_MINUTE: '0' });
  url = gateway.url;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});
beforeEach(() => {
  const expiresAt = () => new Date(Date.now() + 3_600_000).toISOString();
  const opened = () => ({
    sessionToken: 'session-1',
    expiresAt: expiresAt(),
    device: { token: 'device-1', expiresAt: expiresAt() },
  });
  Object.assign(stage.neighbours.auth, {
    listSignInOptions: async () => ({
      needsOrg: false,
      providers: [{ key: 'work', name: '<b>Acme & Co</b>' }],
    }),
    signIn: async () => opened(),
    signInWithPassword: async () => opened(),
    describePassword: async () => ({ possible: true, email: null, needsCurrent: false }),
    setPassword: async () => ({}),
    startProviderSignIn: async () => ({
      url: 'https://id.example/a?b=c',
      browserToken: 'browser-1',
    }),
    finishProviderSignIn: async () => ({ ...opened(), returnTo: '/approvals' }),
  } satisfies Partial<typeof stage.neighbours.auth>);
});

interface Visit {
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly at?: string;
}

async function load(path: string, { form, headers = {}, at = url }: Visit = {}) {
  const response = await fetch(new URL(path, at), {
    method: form === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers: { accept: 'text/html,*/*;q=0.8', ...headers },
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const session = () => ({
  cookie: `gateway_session=${stage.tokenFor(user())}`,
});
const typed = { email: 'ann@example.com', password: 'CANARY-password' };
const withReturn = (path: string, returnTo: string) =>
  `${path}?${new URLSearchParams({ return_to: returnTo }).toString()}`;

describe('the sign-in page', () => {
  test('offers providers and a form, without script, frames or anything from elsewhere', async () => {
    const { status, headers, text } = await load(withReturn('/sign-in', '/approvals?a="b"'));

    expect(status).toBe(200);
    expect(text).toContain('Continue with &lt;b&gt;Acme &amp; Co&lt;/b&gt;');
    expect(text).toContain('href="/sign-in/with/work?return_to=%2Fapprovals%3Fa%3D%2522b%2522"');
    expect(text).toContain('name="return_to" value="/approvals?a=%22b%22"');
    expect(text).toMatch(/autocomplete="username".*autocomplete="current-password"/s);
    expect(text).not.toMatch(/<script|javascript:|<b>/);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('strict-origin');
  });

  test('asks for the org where there are several, and keeps it', async () => {
    stage.neighbours.auth.listSignInOptions = async ({ org }) => ({
      needsOrg: org === null,
      providers: [],
    });
    const asked = await load(withReturn('/sign-in', '/approvals'));
    const named = await load('/sign-in?org=acme');

    expect(asked.text).toContain('Name of the organisation');
    expect(asked.text).toContain('name="return_to" value="/approvals"');
    expect(named.text).toContain('<input type="hidden" name="org" value="acme">');
    let body: unknown;
    stage.neighbours.auth.signInWithPassword = async (request) => {
      body = request.body;
      throw new AppError('unauthenticated', 'Wrong.');
    };
    await load('/sign-in', { form: { ...typed, org: 'acme' } });
    expect(body).toEqual({ ...typed, org: 'acme' });
  });

  test('says who is signed in already, and the way on', async () => {
    const { text } = await load(withReturn('/sign-in', '/approvals'), { headers: session() });

    expect(text).toContain('You are signed in');
    expect(text).toContain('<a class="button" href="/approvals">Continue</a>');
    const again = await load('/sign-in?again=1', { headers: session() });
    expect(again.text).toContain('E-mail address');
  });
});

describe('a password', () => {
  test('signs in, and sends the browser where it wanted to go', async () => {
    const form = { ...typed, return_to: '/approvals/1?x=2' };
    const { status, headers } = await load('/sign-in', { form, headers: { origin: url } });

    expect(status).toBe(303);
    expect(headers.get('location')).toBe('/approvals/1?x=2');
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^gateway_session=session-1; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
      ),
      expect.stringMatching(
        /^gateway_device=device-1; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
      ),
    ]);
  });

  test.for([
    ['unauthenticated', 401],
    ['rate_limited', 429],
    ['identity_archived', 403],
    ['unavailable', 503],
  ] as const)(
    'refused as %s shows the form again, with all but the password',
    async ([code, status]) => {
      stage.neighbours.auth.signInWithPassword = async () => {
        throw new AppError(code, 'Not like <this>.', { details: { retry_after: 7 } });
      };
      const form = { email: '"><i>@example.com', password: 'CANARY-1', return_to: '/approvals' };
      const { status: answered, headers, text } = await load('/sign-in', { form });

      expect(answered).toBe(status);
      expect(text).toContain('<p class="bad" role="alert">Not like &lt;this&gt;.</p>');
      expect(text).toContain('value="&quot;&gt;&lt;i&gt;@example.com"');
      expect(text).toContain('name="return_to" value="/approvals"');
      expect(text).not.toContain('CANARY');
      expect(headers.get('set-cookie')).toBeNull();
      expect(headers.get('retry-after')).toBe('7');
    },
  );

  test.for([{ email: '', password: 'x' }, { email: 'a@example.com', password: '' }, {}])(
    'that is missing (%j) is asked for',
    async (form) => {
      const { status, text } = await load('/sign-in', { form });
      expect(status).toBe(400);
      expect(text).toContain('role="alert"');
    },
  );

  test('signs in over REST too, with the same cookie', async () => {
    const { status, headers } = await ask(url, '/v1/sign-in', { body: typed });
    expect(status).toBe(204);
    expect(headers.get('set-cookie')).toMatch(/^gateway_session=session-1; /);
    const foreign = await ask(url, '/v1/sign-in', {
      body: typed,
      headers: { origin: 'https://evil.example' },
    });
    expect(foreign.status).toBe(403);
    expect(foreign.headers.get('set-cookie')).toBeNull();
  });
});

describe('a provider', () => {
  test('is opened with a cookie that ties the browser, and closed with a session', async () => {
    let started: unknown;
    stage.neighbours.auth.startProviderSignIn = async (request) => {
      started = request;
      return { url: 'https://id.example/a?b=c', browserToken: 'browser-1' };
    };
    const begun = await load('/sign-in/with/work?return_to=%2Fapprovals&org=acme', {
      headers: { cookie: 'gateway_sign_in=browser-0' },
    });
    expect(begun.status).toBe(303);
    expect(begun.headers.get('location')).toBe('https://id.example/a?b=c');
    expect(begun.headers.get('set-cookie')).toBe(
      'gateway_sign_in=browser-1; Path=/; Max-Age=600; HttpOnly; SameSite=Lax',
    );
    expect(started).toEqual({
      org: 'acme',
      key: 'work',
      returnTo: '/approvals',
      browserToken: 'browser-0',
    });

    let finished: unknown;
    stage.neighbours.auth.finishProviderSignIn = async (request) => {
      finished = request;
      const expiresAt = new Date(Date.now() + 1_000_000).toISOString();
      const device = { token: 'device-2', expiresAt };
      return { sessionToken: 'session-2', expiresAt, device, returnTo: '/approvals' };
    };
    const done = await load('/sign-in/callback/work?code=a%2Bb&state=s&iss=i', {
      headers: { cookie: 'gateway_sign_in=browser-1; gateway_device=device-1' },
    });
    expect(done.headers.get('location')).toBe('/approvals');
    expect(done.headers.get('set-cookie')).toMatch(/^gateway_session=session-2; /);
    expect(finished).toMatchObject({
      key: 'work',
      query: 'code=a%2Bb&state=s&iss=i',
      browserToken: 'browser-1',
      deviceToken: 'device-1',
    });
  });

  test('has cookies that only https carries, where the gateway is https', async () => {
    const port = String(await freePort());
    await using secure = await stage.gateway({ BASE_URL: 'https://gateway.example', PORT: port });
    const at = `http://127.0.0.1:${port}`;
    const begun = await load('/sign-in/with/work', { at });
    const done = await load('/sign-in/callback/work?state=s', { at });

    expect(secure.url).toBe('https://gateway.example');
    expect(begun.headers.get('set-cookie')).toBe(
      '__Host-gateway_sign_in=browser-1; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
    );
    expect(done.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-gateway_session=.*; Secure$/),
      expect.stringMatching(/^__Host-gateway_device=.*; Secure$/),
    ]);
  });

  test('that refuses says why, and leads back to where somebody wanted to go', async () => {
    stage.neighbours.auth.finishProviderSignIn = async () => {
      throw new AppError('forbidden', 'You are in none of the groups.', {
        details: { return_to: '/approvals' },
      });
    };
    const { status, headers, text } = await load('/sign-in/callback/work?error=x&state=s');

    expect(status).toBe(403);
    expect(text).toContain('You are in none of the groups.');
    expect(text).toContain('href="/sign-in?return_to=%2Fapprovals"');
    expect(headers.get('set-cookie')).toBeNull();
  });

  test.for(['/sign-in/with/Work', '/sign-in/callback/a%20b?state=s'])(
    'that cannot be one (%s) is not found',
    async (path) => {
      expect((await load(path)).status).toBe(404);
    },
  );
});

describe('choosing a password', () => {
  test('needs a session, and comes back after signing in', async () => {
    const { status, headers } = await load(withReturn('/sign-in/password', '/approvals'));

    expect(status).toBe(303);
    const back = new URL(headers.get('location') ?? '', url).searchParams.get('return_to');
    expect(back).toBe('/sign-in/password?return_to=%2Fapprovals');
  });

  test('saves it, and goes on; it can be skipped', async () => {
    const shown = await load(withReturn('/sign-in/password', '/approvals'), {
      headers: session(),
    });
    expect(shown.text).toContain('<a class="button second" href="/approvals">Not now</a>');

    let asked: unknown;
    stage.neighbours.auth.setPassword = async (request) => {
      asked = request;
      return {};
    };
    const form = { ...typed, return_to: '/approvals' };
    const headers = { ...session(), origin: url };
    const saved = await load('/sign-in/password', { form, headers });
    expect([saved.status, saved.headers.get('location')]).toEqual([303, '/approvals']);
    expect(asked).toMatchObject({ ...typed, current: null });
  });

  test('says what is wrong with it', async () => {
    stage.neighbours.auth.setPassword = async () => {
      throw new AppError('invalid_params', 'The password is too short.');
    };
    const headers = { ...session(), origin: url };
    const short = await load('/sign-in/password', { form: typed, headers });
    expect(short.status).toBe(400);
    expect(short.text).toContain('role="alert">The password is too short.');
    expect(short.text).not.toContain('CANARY');
    const odd = await load('/sign-in/password', { form: { ...typed, email: 'ann' }, headers });
    expect(odd.text).toContain('This is not an e-mail address');
  });

  test('is refused to who comes by a provider alone', async () => {
    stage.neighbours.auth.describePassword = async () => ({
      possible: false,
      email: null,
      needsCurrent: true,
    });
    const { status, text } = await load('/sign-in/password', { headers: session() });
    expect(status).toBe(403);
    expect(text).toContain('There is no password to change');
  });
});

describe('a form that a foreign page sends', () => {
  test.for(
    ['/sign-in', '/sign-in/password'].flatMap((path) =>
      [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site', origin: 'https://other.example' },
      ].map((headers) => [path, headers] as const),
    ),
  )('to %s (%o) changes nothing', async ([path, headers]) => {
    const refuse = async () => {
      throw new Error('a foreign page must not get here');
    };
    Object.assign(stage.neighbours.auth, {
      signIn: refuse,
      signInWithPassword: refuse,
      setPassword: refuse,
    });
    for (const form of [typed, { token: 'abc' }]) {
      const answered = await load(path, { form, headers: { ...session(), ...headers } });
      expect(answered.status).toBe(403);
      expect(answered.headers.get('set-cookie')).toBeNull();
    }
  });

  test('to set a password needs an origin at all, and a cookie, not a bearer', async () => {
    const { cookie } = session();
    const bare = await load('/sign-in/password', { form: typed, headers: { cookie } });
    expect(bare.status).toBe(403);
    const authorization = `Bearer ${cookie.split('=')[1]}`;
    const bearer = await load('/sign-in/password', { form: typed, headers: { authorization } });
    expect(bearer.status).toBe(401);
  });
});

describe('return_to', () => {
  const evil = [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    '/.//evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/%0d%0a\r\nlocation: //evil.example',
    ' //evil.example',
  ];

  test.for(evil.map((each) => [each]))('%j leads nowhere, at any step', async ([returnTo = '']) => {
    stage.neighbours.auth.finishProviderSignIn = async () => ({
      sessionToken: 'session-1',
      expiresAt: new Date().toISOString(),
      device: { token: 'device-1', expiresAt: new Date().toISOString() },
      returnTo: returnTo.slice(0, 100),
    });
    let kept: unknown = 'nothing';
    stage.neighbours.auth.startProviderSignIn = async (request) => {
      kept = request.returnTo;
      return { url: 'https://id.example/', browserToken: 'browser-1' };
    };
    const own = { ...session(), origin: url };
    const pages = [
      await load(withReturn('/sign-in', returnTo)),
      await load(withReturn('/sign-in', returnTo), { headers: own }),
      await load(`${withReturn('/sign-in', returnTo)}&token=abc`),
      await load(withReturn('/sign-in/password', returnTo), { headers: own }),
      await load(withReturn('/sign-in/password', returnTo)),
      await load(withReturn('/sign-in/with/work', returnTo)),
      await load('/sign-in', { form: { ...typed, return_to: returnTo } }),
      await load('/sign-in', { form: { token: 'abc', return_to: returnTo } }),
      await load('/sign-in/password', { form: { ...typed, return_to: returnTo }, headers: own }),
      await load('/sign-in/callback/work?state=s'),
    ];

    expect(kept).toBeNull();
    for (const { text, headers } of pages) {
      expect(text).not.toContain('evil.example');
      expect(text).not.toContain('alert(1)');
      const location = new URL(headers.get('location') ?? '/', url);
      expect([url, 'https://id.example']).toContain(location.origin);
      expect(location.href).not.toContain('evil.example');
    }
  });
});

describe('attempts from one address', () => {
  test.for<[string, (at: string) => Promise<{ status: number }>]>([
    ['passwords', (at) => load('/sign-in', { form: typed, at })],
    ['links', (at) => load('/sign-in', { form: { token: 'abc' }, at })],
    ['REST', (at) => ask(at, '/v1/sign-in', { body: typed })],
    ['providers', (at) => load('/sign-in/with/work', { at })],
    ['callbacks', (at) => load('/sign-in/callback/work?state=s', { at })],
  ])('are limited for %s', async ([, attempt]) => {
    await using limited = await stage.gateway({ RATE_SIGN_IN_PER_MINUTE: '2' });
    const statuses: number[] = [];
    for (let time = 0; time < 3; time += 1) statuses.push((await attempt(limited.url)).status);
    // The other gateway of this stage may have its share.
    expect(statuses[0]).not.toBe(429);
    expect(statuses).toContain(429);
  });
});
