import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import type { RunningGateway } from '../start.ts';

let stage: Stage;
let gateway: RunningGateway;
let url: string;
let dist: string;

beforeAll(async () => {
  stage = await createStage();
  dist = await mkdtemp(join(tmpdir(), 'aag-dist-'));
  await mkdir(join(dist, 'assets'));
  await writeFile(join(dist, 'index.html'), '<!doctype html><title>Dashboard</title>');
  await writeFile(join(dist, 'favicon.svg'), '<svg/>');
  await writeFile(join(dist, '.built-from'), 'hash');
  await writeFile(join(dist, 'assets', 'index-B7xY.js'), 'export {};');
  await writeFile(join(dist, 'assets', 'index-B7xY.js.br'), brotliCompressSync('export {};'));
  gateway = await stage.gateway({}, { dashboardDist: dist });
  url = gateway.url;
  stage.standIns.auth.listSignInOptions = async () => ({ needsOrg: false, providers: [] });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
  await rm(dist, { recursive: true, force: true });
});

async function load(path: string, init: RequestInit = {}, at = url) {
  const response = await fetch(new URL(path, at), {
    redirect: 'manual',
    ...init,
    headers: { accept: 'text/html,*/*;q=0.8', ...(init.headers as Record<string, string>) },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function pressSignIn(token: string, headers: Record<string, string> = {}, at = url) {
  return load('/sign-in', { method: 'POST', body: new URLSearchParams({ token }), headers }, at);
}

describe('the sign-in link', () => {
  test('opens a page with a button, which does not use up the link', async () => {
    stage.standIns.auth.signIn = async () => {
      throw new Error('opening the link must not sign in');
    };

    const { status, headers, text } = await load('/sign-in?token=abc-DEF_123');

    expect(status).toBe(200);
    expect(text).toContain('<form method="post" action="/sign-in">');
    expect(text).toContain('value="abc-DEF_123"');
    expect(text).not.toContain('<script');
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('strict-origin');
  });

  test('signs in when the button is pressed', async () => {
    let lastRequest: unknown;
    stage.standIns.auth.signIn = async (request) => {
      lastRequest = request;
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return { sessionToken: 'session-1', expiresAt, device: { token: 'device-1', expiresAt } };
    };

    const { status, headers } = await pressSignIn('abc', { origin: url, 'user-agent': 'test' });

    expect(status).toBe(303);
    expect(headers.get('location')).toBe('/sign-in/password');
    expect(headers.getSetCookie()[0]).toMatch(
      /^gateway_session=session-1; Path=\/; Max-Age=3(599|600); HttpOnly; SameSite=Lax$/,
    );
    expect(lastRequest).toMatchObject({ token: 'abc', userAgent: 'test' });
  });

  test('sends the browser back to return_to', async () => {
    stage.standIns.auth.signIn = async () => {
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return { sessionToken: 'session-1', expiresAt, device: { token: 'device-1', expiresAt } };
    };
    const returnTo = '/oauth/authorize?client_id=a&state=%22%3E';

    const shownPage = await load(`/sign-in?token=abc&return_to=${encodeURIComponent(returnTo)}`);
    expect(shownPage.text).toContain(
      'name="return_to" value="/oauth/authorize?client_id=a&amp;state=%22%3E"',
    );
    expect(shownPage.headers.get('content-security-policy')).toContain("form-action 'self';");
    const body = new URLSearchParams({ token: 'abc', return_to: returnTo });
    const pressed = await load('/sign-in', { method: 'POST', body });
    expect(pressed.headers.get('location')).toBe(returnTo);

    const waitingPage = await load(`/sign-in?return_to=${encodeURIComponent(returnTo)}`);
    expect(waitingPage.status).toBe(200);
    expect(waitingPage.text).toContain('href="/oauth/authorize?client_id=a&amp;state=%22%3E"');
  });

  test.for(['//evil.example', '/\\evil.example', 'https://evil.example', '/.//evil.example'])(
    'never sends the browser to %s',
    async (returnTo) => {
      stage.standIns.auth.signIn = async () => {
        const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
        return { sessionToken: 'session-1', expiresAt, device: { token: 'device-1', expiresAt } };
      };
      const shownPage = await load(`/sign-in?token=abc&return_to=${encodeURIComponent(returnTo)}`);
      const body = new URLSearchParams({ token: 'abc', return_to: returnTo });
      const pressed = await load('/sign-in', { method: 'POST', body });

      expect(shownPage.text).not.toContain('evil.example');
      expect(pressed.headers.get('location')).toBe('/sign-in/password');
    },
  );

  test('shows a helpful page if it was already used', async () => {
    stage.standIns.auth.signIn = async () => {
      throw new AppError('expired', 'The link is used.');
    };

    const { status, headers, text } = await pressSignIn('abc');

    expect(status).toBe(410);
    expect(text).toContain('This link no longer works');
    expect(headers.get('set-cookie')).toBeNull();
  });

  test.for<Record<string, string>>([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ])('does not sign in when another site sends the form (headers %j)', async (headers) => {
    const { status, headers: answered } = await pressSignIn('abc', headers);

    expect(status).toBe(403);
    expect(answered.get('set-cookie')).toBeNull();
  });

  test.for(['', '<script>alert(1)</script>', '"><img src=x>', 'x'.repeat(201)])(
    'shows an explanation, without the token, if the token is invalid: %j',
    async (token) => {
      const shownPage = await load(`/sign-in?token=${encodeURIComponent(token)}`);
      const pressed = await pressSignIn(token);

      for (const { status, text } of [shownPage, pressed]) {
        expect(status).toBe(400);
        expect(text).toContain('This is not a sign-in link');
        if (token !== '') expect(text).not.toContain(token);
      }
    },
  );

  test('refuses other methods and other bodies', async () => {
    const putAnswer = await load('/sign-in', { method: 'PUT' });
    const json = await load('/sign-in', {
      method: 'POST',
      body: '{"token":"abc"}',
      headers: { 'content-type': 'application/json' },
    });

    expect(putAnswer.status).toBe(405);
    expect(json.status).toBe(400);
  });

  test('can be tried only a limited number of times per client address', async () => {
    // This test has its own stage. On a common one the other gateway of these tests would share the
    // quota.
    await using freshStage = await createStage();
    freshStage.standIns.auth.signIn = async () => {
      throw new AppError('expired', 'The link is used.');
    };
    await using limited = await freshStage.gateway({ RATE_SIGN_IN_PER_MINUTE: '2' });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      statuses.push((await pressSignIn('abc', {}, limited.url)).status);
    }

    expect(statuses).toEqual([410, 410, 429]);
    const { headers } = await pressSignIn('abc', {}, limited.url);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('is limited by the client address that a trusted proxy names, not by an address that a client forged', async () => {
    stage.standIns.auth.signIn = async () => {
      throw new AppError('expired', 'The link is used.');
    };
    const settings = { RATE_SIGN_IN_PER_MINUTE: '1' };
    const forwardedHeaders = (address: string) => ({ 'x-forwarded-for': address });
    await using trustingGateway = await stage.gateway({
      ...settings,
      TRUSTED_PROXIES: '127.0.0.0/8',
    });
    await using distrustfulGateway = await stage.gateway(settings);

    expect(
      (await pressSignIn('abc', forwardedHeaders('192.0.2.1'), trustingGateway.url)).status,
    ).toBe(410);
    expect(
      (await pressSignIn('abc', forwardedHeaders('192.0.2.2'), trustingGateway.url)).status,
    ).toBe(410);
    expect(
      (await pressSignIn('abc', forwardedHeaders('192.0.2.1'), distrustfulGateway.url)).status,
    ).toBe(410);
    expect(
      (await pressSignIn('abc', forwardedHeaders('192.0.2.2'), distrustfulGateway.url)).status,
    ).toBe(429);
  });
});

describe('the dashboard', () => {
  test.for(['/', '/approvals', '/approvals/0198', '/approvals?show=decided', '/provide/abc'])(
    'shows index.html at %s, with a strict content security policy',
    async (path) => {
      const { status, headers, text } = await load(path);

      expect(status).toBe(200);
      expect(text).toContain('<title>Dashboard</title>');
      const contentPolicy = headers.get('content-security-policy');
      expect(contentPolicy).toContain("default-src 'self'");
      expect(contentPolicy).toContain("frame-ancestors 'none'");
      expect(contentPolicy).not.toContain('unsafe');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('cache-control')).toBe('no-cache');
    },
  );

  test('sends a script in the compressed form that the browser accepts', async () => {
    const path = '/assets/index-B7xY.js';
    const compressed = await load(path, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(compressed.text).toBe('export {};');
    expect(compressed.headers.get('content-encoding')).toBe('br');
    expect(compressed.headers.get('content-type')).toContain('javascript');
    expect(compressed.headers.get('vary')).toContain('accept-encoding');
    expect(compressed.headers.get('cache-control')).toContain('immutable');

    const plain = await load(path, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.text).toBe('export {};');
    expect(plain.headers.get('content-encoding')).toBeNull();
  });

  test('lets browsers cache files with a hash in their name for ever, and all other files only after revalidation', async () => {
    const hashedFile = await load('/assets/index-B7xY.js');
    const plainFile = await load('/favicon.svg');

    expect(hashedFile.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(hashedFile.headers.get('content-type')).toContain('javascript');
    expect(plainFile.headers.get('cache-control')).toBe('public, max-age=0');
  });

  test.for([
    '/assets/gone.js',
    '/../config.ts',
    '/..%2f..%2fconfig.ts',
    '/%2e%2e/package.json',
    '/.env',
  ])('does not serve the file %s', async (path) => {
    const { status, text } = await load(path, { headers: { accept: '*/*' } });

    expect([400, 403, 404]).toContain(status);
    expect(JSON.parse(text)).toHaveProperty('error');
  });

  test.for([
    '/metrics',
    '/index.html',
    '/rules?tab=agents',
    '/approvals/0198/more',
    '/provide',
    '/wp-login.php',
    '/.built-from',
    '/favicon.ico',
    '/v1',
    '/health',
    '/admin',
    '/assets/nothing.js',
    '/foo?q=%3Cscript%3E',
  ])(
    'answers requests to %s with a 404, which is a page for a person and the typed error for programs',
    async (path) => {
      const page = await load(path);
      expect(page.status).toBe(404);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(page.text).toContain('There is no page at this address');
      expect(page.text).toContain('<a class="button" href="/">Go to Home</a>');
      expect(page.text).not.toContain('<script');

      for (const accept of [
        '*/*',
        'application/json',
        'text/html;q=0',
        'text/html, application/json',
      ]) {
        const { status, headers, text } = await load(path, { headers: { accept } });

        expect(status).toBe(404);
        expect(headers.get('content-type')).toContain('application/json');
        expect(JSON.parse(text)).toMatchObject({
          error: 'not_found',
          request_id: headers.get('x-request-id'),
        });
      }
    },
  );

  test('answers HEAD at an unknown address like GET, but without the page', async () => {
    const { status, headers, text } = await load('/foo', { method: 'HEAD' });

    expect(status).toBe(404);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text).toBe('');
  });

  test.for(['POST', 'PUT', 'DELETE'])(
    'answers %s at an unknown address with the typed error, whatever the Accept header is',
    async (method) => {
      const { status, text } = await load('/foo', { method });

      expect(status).toBe(404);
      expect(JSON.parse(text)).toMatchObject({ error: 'not_found' });
    },
  );

  test('shows a page at an address that is not valid', async () => {
    const { status, text } = await load('/approvals/%zz');

    expect(status).toBe(400);
    expect(text).toContain('There is no page at this address');
  });

  test.for([
    ['gateway_theme=dark', 'dark'],
    ['a=b; gateway_theme=light', 'light'],
    ['gateway_theme="><script>', 'light dark'],
    ['theme=dark', 'light dark'],
  ])(
    'shows its error page in the theme that the person chose, for the cookie %s',
    async ([cookie = '', scheme]) => {
      const { text } = await load('/foo', { headers: { cookie } });

      expect(text).toContain(`<meta name="color-scheme" content="${scheme}">`);
    },
  );

  test('is not shown to a program that asks for JSON', async () => {
    const { status, text } = await load('/approvals', { headers: { accept: 'application/json' } });

    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ error: 'not_found' });
  });

  test('is replaced by a page with build instructions while it is not built', async () => {
    await using gatewayWithoutDashboard = await stage.gateway(
      {},
      { dashboardDist: join(dist, 'nothing') },
    );

    const { status, text } = await load('/', {}, gatewayWithoutDashboard.url);

    expect(status).toBe(404);
    expect(text).toContain('npm start');
  });
});
