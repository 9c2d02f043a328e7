import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createUserPrincipal } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';

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
  const createOpenedSession = () => ({
    sessionToken: 'session-1',
    expiresAt: expiresAt(),
    device: { token: 'device-1', expiresAt: expiresAt() },
  });
  Object.assign(stage.standIns.auth, {
    listSignInOptions: async () => ({
      needsOrg: false,
      providers: [{ key: 'work', name: '<b>Acme & Co</b>' }],
    }),
    signIn: async () => createOpenedSession(),
    signInWithPassword: async () => createOpenedSession(),
    describePassword: async () => ({ possible: true, email: null, needsCurrent: false }),
    setPassword: async () => ({}),
    startProviderSignIn: async () => ({
      url: 'https://id.example/a?b=c',
      browserToken: 'browser-1',
    }),
    finishProviderSignIn: async () => ({ ...createOpenedSession(), returnTo: '/approvals' }),
  } satisfies Partial<typeof stage.standIns.auth>);
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

const createSessionHeaders = () => ({
  cookie: `gateway_session=${stage.tokenFor(createUserPrincipal())}`,
});
const typedCredentials = { email: 'ann@example.com', password: 'CANARY-password' };
const addReturnTo = (path: string, returnTo: string) =>
  `${path}?${new URLSearchParams({ return_to: returnTo }).toString()}`;

describe('the sign-in page', () => {
  test('offers providers and a password form, without scripts, frames or external resources', async () => {
    const { status, headers, text } = await load(addReturnTo('/sign-in', '/approvals?a="b"'));

    expect(status).toBe(200);
    expect(text).toContain('Continue with &lt;b&gt;Acme &amp; Co&lt;/b&gt;');
    expect(text).toContain('href="/sign-in/with/work?return_to=%2Fapprovals%3Fa%3D%2522b%2522"');
    expect(text).toContain('name="return_to" value="/approvals?a=%22b%22"');
    expect(text).toMatch(/autocomplete="username".*autocomplete="current-password"/s);
    expect(text).not.toMatch(/<script|javascript:|<b>/);
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; img-src 'self'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('strict-origin');
  });

  test('asks for the org if there are several, and remembers the org that the person entered', async () => {
    stage.standIns.auth.listSignInOptions = async ({ org }) => ({
      needsOrg: org === null,
      providers: [],
    });
    const signInPage = await load(addReturnTo('/sign-in', '/approvals'));
    const signInPageOfOrg = await load('/sign-in?org=acme');

    expect(signInPage.text).toContain('Name of the organisation');
    expect(signInPage.text).toContain('name="return_to" value="/approvals"');
    expect(signInPageOfOrg.text).toContain('<input type="hidden" name="org" value="acme">');
    let body: unknown;
    stage.standIns.auth.signInWithPassword = async (request) => {
      body = request.body;
      throw new AppError('unauthenticated', 'Wrong.');
    };
    await load('/sign-in', { form: { ...typedCredentials, org: 'acme' } });
    expect(body).toEqual({ ...typedCredentials, org: 'acme' });
  });

  test('shows who is already signed in, with a link to continue', async () => {
    const { text } = await load(addReturnTo('/sign-in', '/approvals'), {
      headers: createSessionHeaders(),
    });

    expect(text).toContain('You are signed in');
    expect(text).toContain('<a class="button" href="/approvals">Continue</a>');
    const pageAfterRetry = await load('/sign-in?again=1', { headers: createSessionHeaders() });
    expect(pageAfterRetry.text).toContain('E-mail address');
  });
});

describe('a password', () => {
  test('signs a person in, and the browser is sent to return_to', async () => {
    const form = { ...typedCredentials, return_to: '/approvals/1?x=2' };
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
      expect.stringMatching(/^gateway_wanted=; Path=\/; Max-Age=0;/),
    ]);
  });

  test.for([
    ['unauthenticated', 401],
    ['rate_limited', 429],
    ['identity_archived', 403],
    ['unavailable', 503],
  ] as const)(
    'leads to the form again, with all fields but the password, if it is refused with %s',
    async ([code, status]) => {
      stage.standIns.auth.signInWithPassword = async () => {
        throw new AppError(code, 'Not like <this>.', { details: { retry_after: 7 } });
      };
      const form = { email: '"><i>@example.com', password: 'CANARY-1', return_to: '/approvals' };
      const { status: pageAfterPost, headers, text } = await load('/sign-in', { form });

      expect(pageAfterPost).toBe(status);
      expect(text).toContain('<p class="bad" role="alert">Not like &lt;this&gt;.</p>');
      expect(text).toContain('value="&quot;&gt;&lt;i&gt;@example.com"');
      expect(text).toContain('name="return_to" value="/approvals"');
      expect(text).not.toContain('CANARY');
      expect(headers.get('set-cookie')).toBeNull();
      expect(headers.get('retry-after')).toBe('7');
    },
  );

  test.for([{ email: '', password: 'x' }, { email: 'a@example.com', password: '' }, {}])(
    'must be entered together with an e-mail address: %j is refused',
    async (form) => {
      const { status, text } = await load('/sign-in', { form });
      expect(status).toBe(400);
      expect(text).toContain('role="alert"');
    },
  );

  test('signs a person in over REST as well, with the same cookie', async () => {
    const { status, headers } = await sendRequest(url, '/v1/sign-in', { body: typedCredentials });
    expect(status).toBe(204);
    expect(headers.get('set-cookie')).toMatch(/^gateway_session=session-1; /);
    const foreignAnswer = await sendRequest(url, '/v1/sign-in', {
      body: typedCredentials,
      headers: { origin: 'https://evil.example' },
    });
    expect(foreignAnswer.status).toBe(403);
    expect(foreignAnswer.headers.get('set-cookie')).toBeNull();
  });
});

describe('sign-in through a provider', () => {
  test('begins with a cookie that identifies the browser, and ends with a session', async () => {
    let startRequest: unknown;
    stage.standIns.auth.startProviderSignIn = async (request) => {
      startRequest = request;
      return { url: 'https://id.example/a?b=c', browserToken: 'browser-1' };
    };
    const startAnswer = await load('/sign-in/with/work?return_to=%2Fapprovals&org=acme', {
      headers: { cookie: 'gateway_sign_in=browser-0' },
    });
    expect(startAnswer.status).toBe(303);
    expect(startAnswer.headers.get('location')).toBe('https://id.example/a?b=c');
    expect(startAnswer.headers.get('set-cookie')).toBe(
      'gateway_sign_in=browser-1; Path=/; Max-Age=600; HttpOnly; SameSite=Lax',
    );
    expect(startRequest).toEqual({
      org: 'acme',
      key: 'work',
      returnTo: '/approvals',
      browserToken: 'browser-0',
    });

    let finishRequest: unknown;
    stage.standIns.auth.finishProviderSignIn = async (request) => {
      finishRequest = request;
      const expiresAt = new Date(Date.now() + 1_000_000).toISOString();
      const device = { token: 'device-2', expiresAt };
      return { sessionToken: 'session-2', expiresAt, device, returnTo: '/approvals' };
    };
    const callbackAnswer = await load('/sign-in/callback/work?code=a%2Bb&state=s&iss=i', {
      headers: { cookie: 'gateway_sign_in=browser-1; gateway_device=device-1' },
    });
    expect(callbackAnswer.headers.get('location')).toBe('/approvals');
    expect(callbackAnswer.headers.get('set-cookie')).toMatch(/^gateway_session=session-2; /);
    expect(finishRequest).toMatchObject({
      key: 'work',
      query: 'code=a%2Bb&state=s&iss=i',
      browserToken: 'browser-1',
      deviceToken: 'device-1',
    });
  });

  test('sets Secure cookies under https', async () => {
    const port = String(await lastingPort());
    await using httpsGateway = await stage.gateway({
      BASE_URL: 'https://gateway.example',
      PORT: port,
    });
    const at = `http://127.0.0.1:${port}`;
    const startAnswer = await load('/sign-in/with/work', { at });
    const callbackAnswer = await load('/sign-in/callback/work?state=s', { at });

    expect(httpsGateway.url).toBe('https://gateway.example');
    expect(startAnswer.headers.get('set-cookie')).toBe(
      '__Host-gateway_sign_in=browser-1; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
    );
    expect(callbackAnswer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-gateway_session=.*; Secure$/),
      expect.stringMatching(/^__Host-gateway_device=.*; Secure$/),
      expect.stringMatching(/^__Host-gateway_wanted=; .*; Secure$/),
    ]);
  });

  test('ends at a page with the reason and a link with return_to if the provider refuses it', async () => {
    stage.standIns.auth.finishProviderSignIn = async () => {
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
    'is answered with not_found if the provider key in the address is invalid: %s',
    async (path) => {
      expect((await load(path)).status).toBe(404);
    },
  );
});

describe('the page to choose a password', () => {
  test('requires a session, and is shown again after the person has signed in', async () => {
    const { status, headers } = await load(addReturnTo('/sign-in/password', '/approvals'));

    expect(status).toBe(303);
    const returnPath = new URL(headers.get('location') ?? '', url).searchParams.get('return_to');
    expect(returnPath).toBe('/sign-in/password?return_to=%2Fapprovals');
  });

  test('saves the password and continues, or is skipped by the person', async () => {
    const shownPage = await load(addReturnTo('/sign-in/password', '/approvals'), {
      headers: createSessionHeaders(),
    });
    expect(shownPage.text).toContain('<a class="button second" href="/approvals">Not now</a>');

    let lastRequest: unknown;
    stage.standIns.auth.setPassword = async (request) => {
      lastRequest = request;
      return {};
    };
    const form = { ...typedCredentials, return_to: '/approvals' };
    const headers = { ...createSessionHeaders(), origin: url };
    const saved = await load('/sign-in/password', { form, headers });
    expect([saved.status, saved.headers.get('location')]).toEqual([303, '/approvals']);
    expect(lastRequest).toMatchObject({ ...typedCredentials, current: null });
  });

  test('explains what is wrong with a refused password', async () => {
    stage.standIns.auth.setPassword = async () => {
      throw new AppError('invalid_params', 'The password is too short.');
    };
    const headers = { ...createSessionHeaders(), origin: url };
    const answerToShortPassword = await load('/sign-in/password', {
      form: typedCredentials,
      headers,
    });
    expect(answerToShortPassword.status).toBe(400);
    expect(answerToShortPassword.text).toContain('role="alert">The password is too short.');
    expect(answerToShortPassword.text).not.toContain('CANARY');
    const pageOfInvalidEmail = await load('/sign-in/password', {
      form: { ...typedCredentials, email: 'ann' },
      headers,
    });
    expect(pageOfInvalidEmail.text).toContain('This is not an e-mail address');
  });

  test('is not available to a person who signs in only through a provider', async () => {
    stage.standIns.auth.describePassword = async () => ({
      possible: false,
      email: null,
      needsCurrent: true,
    });
    const { status, text } = await load('/sign-in/password', { headers: createSessionHeaders() });
    expect(status).toBe(403);
    expect(text).toContain('There is no password to change');
  });
});

describe('a form on the sign-in pages', () => {
  test.for(
    ['/sign-in', '/sign-in/password'].flatMap((path) =>
      [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site', origin: 'https://other.example' },
      ].map((headers) => [path, headers] as const),
    ),
  )(
    'changes nothing if another site sends it to %s with the headers %j',
    async ([path, headers]) => {
      const refuse = async () => {
        throw new Error('a foreign page must not get here');
      };
      Object.assign(stage.standIns.auth, {
        signIn: refuse,
        signInWithPassword: refuse,
        setPassword: refuse,
      });
      for (const form of [typedCredentials, { token: 'abc' }]) {
        const pageAfterPost = await load(path, {
          form,
          headers: { ...createSessionHeaders(), ...headers },
        });
        expect(pageAfterPost.status).toBe(403);
        expect(pageAfterPost.headers.get('set-cookie')).toBeNull();
      }
    },
  );

  test('for a password needs an Origin header and a cookie; a bearer token is not accepted', async () => {
    const { cookie } = createSessionHeaders();
    const answerWithoutOrigin = await load('/sign-in/password', {
      form: typedCredentials,
      headers: { cookie },
    });
    expect(answerWithoutOrigin.status).toBe(403);
    const authorization = `Bearer ${cookie.split('=')[1]}`;
    const answerToBearer = await load('/sign-in/password', {
      form: typedCredentials,
      headers: { authorization },
    });
    expect(answerToBearer.status).toBe(401);
  });
});

describe('return_to', () => {
  const hostileTargets = [
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

  test.for(hostileTargets.map((each) => [each]))(
    'never leads to another site at any step of the sign-in: %j',
    async ([returnTo = '']) => {
      stage.standIns.auth.finishProviderSignIn = async () => ({
        sessionToken: 'session-1',
        expiresAt: new Date().toISOString(),
        device: { token: 'device-1', expiresAt: new Date().toISOString() },
        returnTo: returnTo.slice(0, 100),
      });
      let keptReturnTo: unknown = 'nothing';
      stage.standIns.auth.startProviderSignIn = async (request) => {
        keptReturnTo = request.returnTo;
        return { url: 'https://id.example/', browserToken: 'browser-1' };
      };
      const ownOrigin = { ...createSessionHeaders(), origin: url };
      const pages = [
        await load(addReturnTo('/sign-in', returnTo)),
        await load(addReturnTo('/sign-in', returnTo), { headers: ownOrigin }),
        await load(`${addReturnTo('/sign-in', returnTo)}&token=abc`),
        await load(addReturnTo('/sign-in/password', returnTo), { headers: ownOrigin }),
        await load(addReturnTo('/sign-in/password', returnTo)),
        await load(addReturnTo('/sign-in/with/work', returnTo)),
        await load('/sign-in', { form: { ...typedCredentials, return_to: returnTo } }),
        await load('/sign-in', { form: { token: 'abc', return_to: returnTo } }),
        await load('/sign-in/password', {
          form: { ...typedCredentials, return_to: returnTo },
          headers: ownOrigin,
        }),
        await load('/sign-in/callback/work?state=s'),
      ];

      expect(keptReturnTo).toBeNull();
      for (const { text, headers } of pages) {
        expect(text).not.toContain('evil.example');
        expect(text).not.toContain('alert(1)');
        const location = new URL(headers.get('location') ?? '/', url);
        expect([url, 'https://id.example']).toContain(location.origin);
        expect(location.href).not.toContain('evil.example');
      }
    },
  );
});

describe('a one-time link', () => {
  const linkPath = '/sign-in?token=abc';

  test('shows when it is opened that it no longer works, without the reason and without a sign-in', async () => {
    const checkedTokens: string[] = [];
    stage.standIns.auth.checkSignInLink = async ({ token }) => {
      checkedTokens.push(token);
      return { works: false };
    };
    stage.standIns.auth.signIn = () => Promise.reject(new Error('nobody pressed a button'));

    const { status, text } = await load(linkPath);

    expect(status).toBe(410);
    expect(text).toContain('This link no longer works');
    expect(text).not.toContain('<form');
    expect(checkedTokens).toEqual(['abc']);
    const opened = await load(linkPath, { headers: createSessionHeaders() });
    expect([opened.status, opened.text.includes('You are signed in')]).toEqual([200, true]);
  });

  test('shows its button if it works, or if auth cannot be asked whether it works', async () => {
    for (const answer of [
      async () => ({ works: true }),
      () => Promise.reject(new AppError('unavailable', 'auth does not answer')),
    ]) {
      stage.standIns.auth.checkSignInLink = answer;
      const { status, text } = await load(linkPath);
      expect([status, text.includes('This link works once.')]).toEqual([200, true]);
    }
  });

  test('leads to the choice of a password, and then to the page that was opened before in this browser', async () => {
    const wantedPage = '/approvals/1?tab=all';
    const first = await load(addReturnTo('/sign-in', wantedPage));
    const cookie = first.headers.getSetCookie().find((each) => each.startsWith('gateway_wanted='));
    expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/);

    const pressed = await load('/sign-in', {
      form: { token: 'abc' },
      headers: { cookie: cookie?.split(';')[0] ?? '' },
    });

    expect(pressed.headers.get('location')).toBe(addReturnTo('/sign-in/password', wantedPage));
    expect(pressed.headers.getSetCookie()).toContainEqual(
      expect.stringMatching(/^gateway_wanted=; Path=\/; Max-Age=0;/),
    );
  });

  test.for(['//evil.example', '/v1/sign-out', '/%5Cevil.example', 'https://evil.example', '%'])(
    'does not redirect to %j if the cookie names it as the page to open',
    async (wantedPage) => {
      const cookie = `gateway_wanted=${encodeURIComponent(wantedPage)}`;
      const pressed = await load('/sign-in', { form: { token: 'abc' }, headers: { cookie } });
      expect(pressed.headers.get('location')).toBe('/sign-in/password');
    },
  );
});

describe('sign-in attempts from one client address', () => {
  test.for<[string, (at: string) => Promise<{ status: number }>]>([
    ['with passwords', (at) => load('/sign-in', { form: typedCredentials, at })],
    ['with sign-in links', (at) => load('/sign-in', { form: { token: 'abc' }, at })],
    ['over REST', (at) => sendRequest(at, '/v1/sign-in', { body: typedCredentials })],
    ['through a provider', (at) => load('/sign-in/with/work', { at })],
    ['with callbacks of a provider', (at) => load('/sign-in/callback/work?state=s', { at })],
  ])('are limited if they are made %s', async ([, attempt]) => {
    await using limited = await stage.gateway({ RATE_SIGN_IN_PER_MINUTE: '2' });
    const statuses: number[] = [];
    for (let repetition = 0; repetition < 3; repetition += 1)
      statuses.push((await attempt(limited.url)).status);
    // The other gateway of these tests may count as a second replica, which halves the quota.
    expect(statuses[0]).not.toBe(429);
    expect(statuses).toContain(429);
  });
});
