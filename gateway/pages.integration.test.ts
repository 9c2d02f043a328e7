import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import type { RunningGateway } from './start.ts';

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
  await writeFile(join(dist, 'assets', 'index-B7xY.js'), 'export {};');
  gateway = await stage.gateway({}, { dashboardDist: dist });
  url = gateway.url;
  stage.neighbours.auth.listSignInOptions = async () => ({ needsOrg: false, providers: [] });
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

function press(token: string, headers: Record<string, string> = {}, at = url) {
  return load('/sign-in', { method: 'POST', body: new URLSearchParams({ token }), headers }, at);
}

describe('the sign-in link', () => {
  test('shows a button and uses nothing up', async () => {
    stage.neighbours.auth.signIn = async () => {
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
    let asked: unknown;
    stage.neighbours.auth.signIn = async (request) => {
      asked = request;
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return { sessionToken: 'session-1', expiresAt, device: { token: 'device-1', expiresAt } };
    };

    const { status, headers } = await press('abc', { origin: url, 'user-agent': 'test' });

    expect(status).toBe(303);
    expect(headers.get('location')).toBe('/sign-in/password');
    expect(headers.getSetCookie()[0]).toMatch(
      /^gateway_session=session-1; Path=\/; Max-Age=3(599|600); HttpOnly; SameSite=Lax$/,
    );
    expect(asked).toMatchObject({ token: 'abc', userAgent: 'test' });
  });

  test('sends the browser back to where it came from', async () => {
    stage.neighbours.auth.signIn = async () => {
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      return { sessionToken: 'session-1', expiresAt, device: { token: 'device-1', expiresAt } };
    };
    const returnTo = '/oauth/authorize?client_id=a&state=%22%3E';

    const shown = await load(`/sign-in?token=abc&return_to=${encodeURIComponent(returnTo)}`);
    expect(shown.text).toContain(
      'name="return_to" value="/oauth/authorize?client_id=a&amp;state=%22%3E"',
    );
    expect(shown.headers.get('content-security-policy')).toContain("form-action 'self' https:");
    const body = new URLSearchParams({ token: 'abc', return_to: returnTo });
    const pressed = await load('/sign-in', { method: 'POST', body });
    expect(pressed.headers.get('location')).toBe(returnTo);

    const waiting = await load(`/sign-in?return_to=${encodeURIComponent(returnTo)}`);
    expect(waiting.status).toBe(200);
    expect(waiting.text).toContain('href="/oauth/authorize?client_id=a&amp;state=%22%3E"');
  });

  test.for(['//evil.example', '/\\evil.example', 'https://evil.example', '/.//evil.example'])(
    'never sends it to %s',
    async (returnTo) => {
      stage.neighbours.auth.signIn = async () => {
        const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
        return { sessionToken: 'session-1', expiresAt, device: { token: 'device-1', expiresAt } };
      };
      const shown = await load(`/sign-in?token=abc&return_to=${encodeURIComponent(returnTo)}`);
      const body = new URLSearchParams({ token: 'abc', return_to: returnTo });
      const pressed = await load('/sign-in', { method: 'POST', body });

      expect(shown.text).not.toContain('evil.example');
      expect(pressed.headers.get('location')).toBe('/sign-in/password');
    },
  );

  test('that was used already says so kindly', async () => {
    stage.neighbours.auth.signIn = async () => {
      throw new AppError('expired', 'The link is used.');
    };

    const { status, headers, text } = await press('abc');

    expect(status).toBe(410);
    expect(text).toContain('This link no longer works');
    expect(headers.get('set-cookie')).toBeNull();
  });

  test.for<Record<string, string>>([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ])('pressed on a foreign page (%o) does not sign in', async (headers) => {
    const { status, headers: answered } = await press('abc', headers);

    expect(status).toBe(403);
    expect(answered.get('set-cookie')).toBeNull();
  });

  test.for(['', '<script>alert(1)</script>', '"><img src=x>', 'x'.repeat(201)])(
    'that is none (%s) is explained, and nothing of it is repeated',
    async (token) => {
      const shown = await load(`/sign-in?token=${encodeURIComponent(token)}`);
      const pressed = await press(token);

      for (const { status, text } of [shown, pressed]) {
        expect(status).toBe(400);
        expect(text).toContain('This is not a sign-in link');
        if (token !== '') expect(text).not.toContain(token);
      }
    },
  );

  test('does not take other methods or other bodies', async () => {
    const put = await load('/sign-in', { method: 'PUT' });
    const json = await load('/sign-in', {
      method: 'POST',
      body: '{"token":"abc"}',
      headers: { 'content-type': 'application/json' },
    });

    expect(put.status).toBe(405);
    expect(json.status).toBe(400);
  });

  test('may be tried only so often from one address', async () => {
    stage.neighbours.auth.signIn = async () => {
      throw new AppError('expired', 'The link is used.');
    };
    await using limited = await stage.gateway({ RATE_SIGN_IN_PER_MINUTE: '2' });
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      statuses.push((await press('abc', {}, limited.url)).status);
    }

    expect(statuses).toEqual([410, 410, 429]);
    const { headers } = await press('abc', {}, limited.url);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('counts the address a trusted proxy names, and no other', async () => {
    stage.neighbours.auth.signIn = async () => {
      throw new AppError('expired', 'The link is used.');
    };
    const settings = { RATE_SIGN_IN_PER_MINUTE: '1' };
    const from = (address: string) => ({ 'x-forwarded-for': address });
    await using trusting = await stage.gateway({ ...settings, TRUSTED_PROXIES: '127.0.0.0/8' });
    await using doubting = await stage.gateway(settings);

    expect((await press('abc', from('192.0.2.1'), trusting.url)).status).toBe(410);
    expect((await press('abc', from('192.0.2.2'), trusting.url)).status).toBe(410);
    expect((await press('abc', from('192.0.2.1'), doubting.url)).status).toBe(410);
    expect((await press('abc', from('192.0.2.2'), doubting.url)).status).toBe(429);
  });
});

describe('the dashboard', () => {
  test.for(['/', '/approvals', '/approvals/0198', '/agents?tab=rules'])(
    '%s is its page, under a strict policy',
    async (path) => {
      const { status, headers, text } = await load(path);

      expect(status).toBe(200);
      expect(text).toContain('<title>Dashboard</title>');
      const policy = headers.get('content-security-policy');
      expect(policy).toContain("default-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('cache-control')).toBe('no-cache');
    },
  );

  test('keeps what is named by its content for ever, and asks again for the rest', async () => {
    const hashed = await load('/assets/index-B7xY.js');
    const plain = await load('/favicon.svg');

    expect(hashed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(hashed.headers.get('content-type')).toContain('javascript');
    expect(plain.headers.get('cache-control')).toBe('public, max-age=0');
  });

  test.for([
    '/assets/gone.js',
    '/../config.ts',
    '/..%2f..%2fconfig.ts',
    '/%2e%2e/package.json',
    '/.env',
  ])('%s is not served', async (path) => {
    const { status, text } = await load(path);

    expect([400, 403, 404]).toContain(status);
    expect(JSON.parse(text)).toHaveProperty('error');
  });

  test('is no answer for a program that asks for JSON', async () => {
    const { status, text } = await load('/approvals', { headers: { accept: 'application/json' } });

    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ error: 'not_found' });
  });

  test('that is not built says how to build it', async () => {
    await using bare = await stage.gateway({}, { dashboardDist: join(dist, 'nothing') });

    const { status, text } = await load('/', {}, bare.url);

    expect(status).toBe(404);
    expect(text).toContain('npm start');
  });
});
