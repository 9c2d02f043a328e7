import { describe, expect, it } from 'vitest';

import { parseEgressAllow } from './allow.ts';
import { mayHaveLeft } from './failures.ts';
import { createGuard, parseUrl } from './guard.ts';
import { createOwnAddresses, ownAddressesOf } from './own.ts';

interface World {
  readonly allow?: string;
  readonly own?: readonly string[];
  readonly answers?: Readonly<Record<string, readonly string[]>>;
}

function guardOf({ allow = '', own = [], answers = {} }: World = {}) {
  return createGuard({
    allow: parseEgressAllow(allow),
    own: createOwnAddresses(own),
    resolve: async (hostname) => answers[hostname] ?? [],
  });
}

/** The addresses a call would connect to, or the code of the refusal. */
async function outcome(url: string, world: World = {}): Promise<readonly string[] | string> {
  const guard = guardOf(world);
  const targets = async () => guard.vettedAddresses(guard.target(parseUrl(url)));
  return await targets().catch((error: { code: string }) => {
    expect(String(error)).not.toMatch(/\d+\.\d+\.\d+\.\d+|::/);
    return error.code;
  });
}

const refused = /upstream_refused_address|EGRESS_REFUSED|invalid_request/;

/** Every way to write an address that some URL parser, or some resolver, is known to accept. */
const spellings = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0x7F.1',
  '0177.0.0.1',
  '017700000001',
  '00000177.0.0.1',
  '0177.0x0.0.1',
  '127.0.0.1.',
  '127.0.0.1..',
  '１２７.０.０.１',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '127｡0｡0｡1',
  '127%2e0%2e0%2e1',
  '%31%32%37.0.0.1',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'ｌｏｃａｌｈｏｓｔ',
  '0',
  '0.0.0.0',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0000:0000:0000:0000:0000:ffff:7f00:0001]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
  '[fe80::1%25eth0]',
  '[::]',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '169.254.43518',
  '[fd00:ec2::254]',
  '[::ffff:a9fe:a9fe]',
  '4294967296',
  '256.0.0.1',
  '1.2.3.4.5',
  'a..b',
  '-a.example',
  'a b.example',
];

describe('the guard', () => {
  it.each(spellings)('refuses https://%s/', async (host) => {
    const answers = { localhost: ['127.0.0.1', '::1'] };
    expect(await outcome(`https://${host}/`, { answers })).toMatch(refused);
  });

  it.each(['https://1.1.1.1/', 'https://[2606:4700::1111]:8443/'])(
    'lets %s through',
    async (url) => {
      expect(await outcome(url)).toHaveLength(1);
    },
  );

  it('connects to every vetted address of a name, and to nothing if one of them is bad', async () => {
    const good = ['1.1.1.1', '2606:4700::1111'];
    expect(await outcome('https://a.example/', { answers: { 'a.example': good } })).toEqual(good);
    for (const bad of ['10.0.0.1', '::1', '169.254.169.254', 'not an address', 'fe80::1%eth0']) {
      const answers = { 'a.example': [...good, bad] };
      expect(await outcome('https://a.example/', { answers })).toBe('EGRESS_REFUSED');
    }
    expect(await outcome('https://a.example/')).toBe('EGRESS_REFUSED');
  });

  it('asks for the name without its trailing dot, in A-labels', async () => {
    const answers = { 'xn--bcher-kva.example': ['1.1.1.1'] };
    expect(await outcome('https://BÜCHER.example./', { answers })).toEqual(['1.1.1.1']);
  });

  it.each([
    'http://a.example/',
    'http://1.1.1.1/',
    'ftp://a.example/',
    'gopher://a.example/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'unix:/run/x.sock',
    'http+unix://%2Frun%2Fx.sock/',
    'https://a.example:0/',
  ])('refuses %s', async (url) => {
    expect(await outcome(url, { answers: { 'a.example': ['1.1.1.1'] } })).toMatch(refused);
  });

  it.each([
    'https://user@a.example/',
    'https://user:pw@a.example/',
    'https://@a.example/',
    'https://:@a.example/',
    'https://a.example\\@b.example/',
    'https:\\\\a.example/',
    'https://a.exam\tple/',
    ' https://a.example/',
    'https://a.example/ b',
    'https://a.example/\n',
    '//a.example/',
    '/path',
    '',
  ])('calls %j an invalid request', async (url) => {
    expect(await outcome(url, { answers: { 'a.example': ['1.1.1.1'] } })).toBe('invalid_request');
  });
});

describe('EGRESS_ALLOW', () => {
  it('opens a listed host by plain http, on its port only', async () => {
    const world = { allow: 'git.corp:8080', answers: { 'git.corp': ['10.0.0.1'] } };
    expect(await outcome('http://git.corp:8080/', world)).toEqual(['10.0.0.1']);
    expect(await outcome('https://git.corp:8080/', world)).toEqual(['10.0.0.1']);
    expect(await outcome('http://git.corp/', world)).toMatch(refused);
    expect(await outcome('https://git.corp/', world)).toMatch(refused);
  });

  it('opens a network to names that lie in it entirely', async () => {
    const answers = { in: ['10.0.0.1', '10.0.0.2'], both: ['10.0.0.1', '1.1.1.1'] };
    const world = { allow: '10.0.0.0/8:80', answers };
    expect(await outcome('http://in/', world)).toHaveLength(2);
    expect(await outcome('http://10.9.9.9/', world)).toHaveLength(1);
    expect(await outcome('http://both/', world)).toMatch(refused);
    expect(await outcome('http://in:81/', world)).toMatch(refused);
    expect(await outcome('https://in/', world)).toMatch(refused);
  });

  it('never opens metadata addresses', async () => {
    const answers = { 'm.corp': ['169.254.169.254'] };
    const allow = '0.0.0.0/0,::/0,m.corp:80,169.254.169.254:80,[fd00:ec2::254]:80';
    for (const host of ['m.corp', '169.254.169.254', '[fd00:ec2::254]', '[::ffff:a9fe:a9fe]']) {
      expect(await outcome(`http://${host}/`, { allow, answers })).toMatch(refused);
    }
  });

  it('never opens the places where we listen', async () => {
    const own = ['127.0.0.1:4222', '0.0.0.0:8080', '[::1]:5432', 'gateway.corp:443'];
    const answers = { 'gateway.corp': ['10.0.0.1'], alias: ['127.0.0.1'] };
    const world = { allow: '0.0.0.0/0,::/0,gateway.corp:443', own, answers };
    const places = [
      '127.0.0.1:4222',
      'alias:4222',
      '127.0.0.1:8080',
      '127.9.9.9:8080',
      '[::1]:8080',
    ];
    for (const place of [...places, '[::1]:5432', 'gateway.corp:443', '[::ffff:127.0.0.1]:4222']) {
      expect(await outcome(`http://${place}/`, world)).toMatch(refused);
    }
    expect(await outcome('http://127.0.0.1:4223/', world)).toHaveLength(1);
    expect(await outcome('http://127.0.0.2:4222/', world)).toHaveLength(1);
  });
});

describe('a refusal', () => {
  it('has sent nothing', () => {
    const error = (() => {
      try {
        return guardOf().target(parseUrl('https://127.0.0.1/'));
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: 'upstream_refused_address', details: {} });
    expect(mayHaveLeft(error)).toBe(false);
    expect(mayHaveLeft(new Error('from elsewhere'))).toBe(true);
  });
});

it('counts every part of the installation that listens as an own address', () => {
  const settings = {
    HOST: '0.0.0.0',
    PORT: 8080,
    BASE_URL: 'https://gateway.example',
    OAUTH_URL: 'http://auth:8081',
    NATS_URL: 'nats://executor:CANARY-password@127.0.0.1:4333, tls://nats-2',
    DATABASE_URL: 'postgres://executor:CANARY-password@db.internal/gateway',
  };
  expect(ownAddressesOf(settings)).toEqual([
    '0.0.0.0:8080',
    'gateway.example:443',
    'auth:8081',
    'db.internal:5432',
    '127.0.0.1:4333',
    'nats-2:4222',
  ]);
  const onSocket = { ...settings, PORT: 0, DATABASE_URL: 'postgres:///gateway?host=/run/pg' };
  expect(ownAddressesOf(onSocket)).not.toContain('0.0.0.0:0');
  expect(ownAddressesOf(onSocket).join()).not.toContain('5432');
});
