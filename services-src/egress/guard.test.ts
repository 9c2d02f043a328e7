import { describe, expect, it } from 'vitest';

import { parseEgressAllow } from './allow.ts';
import { mayHaveLeft } from './failures.ts';
import { createGuard, parseUrl } from './guard.ts';
import { createOwnAddresses, ownAddressesOf } from './own.ts';

interface World {
  readonly allow?: string;
  /** Where we listen. */
  readonly own?: readonly string[];
  /** Places of ours that only their name makes ours. */
  readonly names?: readonly string[];
  readonly answers?: Readonly<Record<string, readonly string[] | Error>>;
}

function guardOf({ allow = '', own = [], names = [], answers = {} }: World = {}) {
  return createGuard({
    allow: parseEgressAllow(allow),
    own: createOwnAddresses({ listeners: own, names }),
    resolve: async (hostname) => {
      const answer = answers[hostname] ?? [];
      if (answer instanceof Error) throw answer;
      return answer;
    },
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

describe('the containers of the installation itself, in a network that EGRESS_ALLOW opens', () => {
  const settings = {
    HOST: 'gateway',
    PORT: 8080,
    BASE_URL: 'https://gateway.corp',
    OAUTH_URL: 'http://auth:8081',
    NATS_URL: 'nats://executor:CANARY-password@nats:4222',
    DATABASE_URL: 'postgres://executor:CANARY-password@postgres:5432/gateway',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    EGRESS_PROXY: 'http://proxy:3128',
    HEALTH_PORT: 9104,
  };
  const { listeners: own, names } = ownAddressesOf(settings);
  const answers = {
    gateway: ['172.18.0.2'],
    auth: ['172.18.0.3'],
    nats: ['172.18.0.4', 'fd00::4'],
    postgres: ['172.18.0.5'],
    collector: ['172.18.0.6'],
    proxy: ['172.18.0.7'],
    'gateway.corp': ['172.18.0.9'],
    'git.corp': ['172.18.0.9'],
    'alias-of-nats': ['172.18.0.4'],
    'both.example': ['1.1.1.1', '172.18.0.5'],
    api: ['172.18.0.20'],
  };
  const world = { own, names, answers, allow: '172.16.0.0/12,fd00::/8' };

  it.each([
    'nats:4222',
    'nats:8222',
    'postgres:5432',
    'gateway:8080',
    'auth:8081',
    'collector:4318',
    'proxy:3128',
    'alias-of-nats:4222',
    'alias-of-nats:8222',
    'alias-of-nats:80',
    '172.18.0.4:4222',
    '172.18.0.4:8222',
    '[fd00::4]:4222',
    '[::ffff:172.18.0.4]:4222',
    '172.18.0.5:5432',
    '172.18.0.2:8080',
    '172.18.0.2:9101',
    '172.18.0.3:8081',
    'both.example:5432',
    'both.example',
  ])('cannot be called at %s', async (place) => {
    for (const scheme of ['http', 'https']) {
      expect(await outcome(`${scheme}://${place}/`, world)).toMatch(refused);
    }
  });

  it('does not stand in the way of neighbours', async () => {
    expect(await outcome('http://api:8222/', world)).toEqual(['172.18.0.20']);
    expect(await outcome('http://172.18.0.20:4222/', world)).toEqual(['172.18.0.20']);
  });

  it('shares no web address with names that are not ours', async () => {
    expect(await outcome('https://gateway.corp/', world)).toMatch(refused);
    expect(await outcome('https://git.corp/', world)).toEqual(['172.18.0.9']);
  });

  it('opens another port of one of our hosts to an entry that names the port, and never our own', async () => {
    const opened = { ...world, allow: 'postgres:8443,172.18.0.4/32:9222,172.18.0.4/32:8222' };
    expect(await outcome('https://postgres:8443/', opened)).toEqual(['172.18.0.5']);
    expect(await outcome('http://172.18.0.4:9222/', opened)).toEqual(['172.18.0.4']);
    expect(await outcome('http://172.18.0.4:8222/', opened)).toMatch(refused);
    for (const place of ['nats:4222', 'postgres:5432', 'alias-of-nats:8222']) {
      const allow = [place, '172.16.0.0/12:4222', '172.16.0.0/12:8222'].join();
      expect(await outcome(`http://${place}/`, { ...world, allow })).toMatch(refused);
    }
  });

  it('follows a container that comes back at another address', async () => {
    const moving: Record<string, string[]> = { ...answers };
    const guard = guardOf({ ...world, answers: moving });
    const reach = (place: string) =>
      guard.vettedAddresses(guard.target(parseUrl(`http://${place}/`)));
    await expect(reach('alias-of-nats:4222')).rejects.toThrow();
    Object.assign(moving, { nats: ['172.18.0.44'], moved: ['172.18.0.44'] });
    await expect(reach('moved:4222')).rejects.toThrow();
    expect(await reach('alias-of-nats:4222')).toEqual(['172.18.0.4']);
  });

  it('stays closed while nobody can say where its names lead', async () => {
    const failure = (code: string) => Object.assign(new Error(code), { code });
    const unknown = { ...answers, nats: failure('EAI_AGAIN') };
    expect(await outcome('http://api:80/', { ...world, answers: unknown })).toMatch(refused);
    expect(await outcome('https://1.1.1.1/', { ...world, answers: unknown })).toHaveLength(1);
    const absent = { ...answers, nats: failure('ENOTFOUND') };
    expect(await outcome('http://api:80/', { ...world, answers: absent })).toHaveLength(1);

    const going: Record<string, string[] | Error> = { ...answers };
    const guard = guardOf({ ...world, answers: going });
    const reach = (place: string) =>
      guard.vettedAddresses(guard.target(parseUrl(`http://${place}/`)));
    expect(await reach('api:80')).toHaveLength(1);
    going['nats'] = failure('ENOTFOUND');
    await expect(reach('alias-of-nats:4222')).rejects.toThrow();
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
    OAUTH_HOST: '0.0.0.0',
    OAUTH_PORT: 8081,
    NATS_URL: 'nats://executor:CANARY-password@127.0.0.1:4333, tls://nats-2',
    DATABASE_URL: 'postgres://executor:CANARY-password@db.internal,db-2.internal/gateway',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://telemetry.example',
    EGRESS_PROXY: 'http://proxy.internal:3128',
    HEALTH_PORT: 9104,
  };
  expect(ownAddressesOf(settings)).toEqual({
    listeners: [
      '0.0.0.0:8080',
      '0.0.0.0:8081',
      '0.0.0.0:9104',
      'auth:8081',
      'proxy.internal:3128',
      'db.internal:5432',
      'db-2.internal:5432',
      '127.0.0.1:4333',
      '127.0.0.1:6222',
      '127.0.0.1:8222',
      'nats-2:4222',
      'nats-2:6222',
      'nats-2:8222',
    ],
    names: ['gateway.example:443', 'telemetry.example:443'],
  });
  const onSocket = { ...settings, PORT: 0, DATABASE_URL: 'postgres:///gateway?host=/run/pg' };
  expect(ownAddressesOf(onSocket).listeners).not.toContain('0.0.0.0:0');
  expect(ownAddressesOf(onSocket).listeners.join()).not.toContain('5432');
});
