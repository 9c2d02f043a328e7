import { describe, expect, it } from 'vitest';

import { parseEgressAllow } from './allow.ts';
import { mayHaveLeft } from './failures.ts';
import { createGuard, parseUrl } from './guard.ts';
import { createOwnAddresses, ownAddressesOf } from './own.ts';

interface World {
  readonly allow?: string;
  /** The addresses and ports at which the installation listens. */
  readonly own?: readonly string[];
  /** Hosts and ports of the installation that are recognised by name only. */
  readonly names?: readonly string[];
  readonly answers?: Readonly<Record<string, readonly string[] | Error>>;
  /** Whether the operator's proxy looks names up. */
  readonly isResolvedByProxy?: boolean;
}

function guardOf({
  allow = '',
  own = [],
  names = [],
  answers = {},
  isResolvedByProxy = false,
}: World = {}) {
  return createGuard({
    isResolvedByProxy,
    allow: parseEgressAllow(allow),
    own: createOwnAddresses({ listeners: own, names }),
    resolve: async (hostname) => {
      const answer = answers[hostname] ?? [];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
}

/** The addresses to which a call would connect, or the code of the refusal. */
async function outcomeOf(url: string, world: World = {}): Promise<readonly string[] | string> {
  const guard = guardOf(world);
  const vetAddresses = async () => guard.vettedAddresses(guard.target(parseUrl(url)));
  return await vetAddresses().catch((error: { code: string }) => {
    expect(String(error)).not.toMatch(/\d+\.\d+\.\d+\.\d+|::/);
    return error.code;
  });
}

const refusalPattern = /upstream_refused_address|EGRESS_REFUSED|invalid_request/;

/** Every way to write an address that some URL parser or resolver is known to accept. */
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

describe('the guard of outgoing requests', () => {
  it.each(spellings)('refuses the forbidden host in https://%s/', async (host) => {
    const answers = { localhost: ['127.0.0.1', '::1'] };
    expect(await outcomeOf(`https://${host}/`, { answers })).toMatch(refusalPattern);
  });

  it.each(['https://1.1.1.1/', 'https://[2606:4700::1111]:8443/'])(
    'accepts the public address %s',
    async (url) => {
      expect(await outcomeOf(url)).toHaveLength(1);
    },
  );

  it('returns every address of a host name, or refuses the name when one of its addresses is forbidden', async () => {
    const publicAddresses = ['1.1.1.1', '2606:4700::1111'];
    expect(
      await outcomeOf('https://a.example/', { answers: { 'a.example': publicAddresses } }),
    ).toEqual(publicAddresses);
    for (const refusedAddress of [
      '10.0.0.1',
      '::1',
      '169.254.169.254',
      'not an address',
      'fe80::1%eth0',
    ]) {
      const answers = { 'a.example': [...publicAddresses, refusedAddress] };
      expect(await outcomeOf('https://a.example/', { answers })).toBe('EGRESS_REFUSED');
    }
    expect(await outcomeOf('https://a.example/')).toBe('EGRESS_REFUSED');
  });

  it('asks DNS for a host name without its trailing dot and in A-labels', async () => {
    const answers = { 'xn--bcher-kva.example': ['1.1.1.1'] };
    expect(await outcomeOf('https://BÜCHER.example./', { answers })).toEqual(['1.1.1.1']);
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
  ])('refuses the scheme or port of %s', async (url) => {
    expect(await outcomeOf(url, { answers: { 'a.example': ['1.1.1.1'] } })).toMatch(refusalPattern);
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
  ])('refuses the malformed URL %j as an invalid request', async (url) => {
    expect(await outcomeOf(url, { answers: { 'a.example': ['1.1.1.1'] } })).toBe('invalid_request');
  });
});

describe('the setting EGRESS_ALLOW', () => {
  it('allows plain http to a listed host on the listed port only', async () => {
    const world = { allow: 'git.corp:8080', answers: { 'git.corp': ['10.0.0.1'] } };
    expect(await outcomeOf('http://git.corp:8080/', world)).toEqual(['10.0.0.1']);
    expect(await outcomeOf('https://git.corp:8080/', world)).toEqual(['10.0.0.1']);
    expect(await outcomeOf('http://git.corp/', world)).toMatch(refusalPattern);
    expect(await outcomeOf('https://git.corp/', world)).toMatch(refusalPattern);
  });

  it('allows a listed network for a host name only if all addresses of the name are in that network', async () => {
    const answers = { in: ['10.0.0.1', '10.0.0.2'], both: ['10.0.0.1', '1.1.1.1'] };
    const world = { allow: '10.0.0.0/8:80', answers };
    expect(await outcomeOf('http://in/', world)).toHaveLength(2);
    expect(await outcomeOf('http://10.9.9.9/', world)).toHaveLength(1);
    expect(await outcomeOf('http://both/', world)).toMatch(refusalPattern);
    expect(await outcomeOf('http://in:81/', world)).toMatch(refusalPattern);
    expect(await outcomeOf('https://in/', world)).toMatch(refusalPattern);
  });

  it('never allows the metadata addresses of clouds', async () => {
    const answers = { 'm.corp': ['169.254.169.254'] };
    const allow = '0.0.0.0/0,::/0,m.corp:80,169.254.169.254:80,[fd00:ec2::254]:80';
    for (const host of ['m.corp', '169.254.169.254', '[fd00:ec2::254]', '[::ffff:a9fe:a9fe]']) {
      expect(await outcomeOf(`http://${host}/`, { allow, answers })).toMatch(refusalPattern);
    }
  });

  it('never allows an address and port at which the installation itself listens', async () => {
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
      expect(await outcomeOf(`http://${place}/`, world)).toMatch(refusalPattern);
    }
    expect(await outcomeOf('http://127.0.0.1:4223/', world)).toHaveLength(1);
    expect(await outcomeOf('http://127.0.0.2:4222/', world)).toHaveLength(1);
  });
});

describe('containers of the installation in a private network that EGRESS_ALLOW lists', () => {
  const settings = {
    HOST: 'gateway',
    PORT: 8080,
    BASE_URL: 'https://gateway.corp',
    OAUTH_URL: 'http://auth:8081',
    NATS_URL:
      'nats://executor:CANARY-password@nats:4222,nats-1:4223,nats://executor:CANARY-password@nats-2:4222',
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
    'nats-1': ['172.18.0.10'],
    'nats-2': ['172.18.0.11'],
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
    'nats-1:4223',
    'nats-1:8222',
    'nats-2:4222',
    '172.18.0.10:4223',
    '172.18.0.11:6222',
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
      expect(await outcomeOf(`${scheme}://${place}/`, world)).toMatch(refusalPattern);
    }
  });

  it('do not prevent calls to other hosts of that network', async () => {
    expect(await outcomeOf('http://api:8222/', world)).toEqual(['172.18.0.20']);
    expect(await outcomeOf('http://172.18.0.20:4222/', world)).toEqual(['172.18.0.20']);
  });

  it('do not prevent calls to other host names at the address of a web server that they share', async () => {
    expect(await outcomeOf('https://gateway.corp/', world)).toMatch(refusalPattern);
    expect(await outcomeOf('https://git.corp/', world)).toEqual(['172.18.0.9']);
  });

  it('can be called on a port that EGRESS_ALLOW names, but never on a port of the installation', async () => {
    const openedWorld = { ...world, allow: 'postgres:8443,172.18.0.4/32:9222,172.18.0.4/32:8222' };
    expect(await outcomeOf('https://postgres:8443/', openedWorld)).toEqual(['172.18.0.5']);
    expect(await outcomeOf('http://172.18.0.4:9222/', openedWorld)).toEqual(['172.18.0.4']);
    expect(await outcomeOf('http://172.18.0.4:8222/', openedWorld)).toMatch(refusalPattern);
    for (const place of ['nats:4222', 'postgres:5432', 'alias-of-nats:8222']) {
      const allow = [place, '172.16.0.0/12:4222', '172.16.0.0/12:8222'].join();
      expect(await outcomeOf(`http://${place}/`, { ...world, allow })).toMatch(refusalPattern);
    }
  });

  it('are still refused after one of them has moved to another address', async () => {
    const movingAnswers: Record<string, string[]> = { ...answers };
    const guard = guardOf({ ...world, answers: movingAnswers });
    const vetPlace = (place: string) =>
      guard.vettedAddresses(guard.target(parseUrl(`http://${place}/`)));
    await expect(vetPlace('alias-of-nats:4222')).rejects.toThrow();
    Object.assign(movingAnswers, { nats: ['172.18.0.44'], moved: ['172.18.0.44'] });
    await expect(vetPlace('moved:4222')).rejects.toThrow();
    expect(await vetPlace('alias-of-nats:4222')).toEqual(['172.18.0.4']);
  });

  it('cause all calls to that network to be refused while one of their names cannot be looked up', async () => {
    const createDnsError = (code: string) => Object.assign(new Error(code), { code });
    const unknownAnswers = { ...answers, nats: createDnsError('EAI_AGAIN') };
    expect(await outcomeOf('http://api:80/', { ...world, answers: unknownAnswers })).toMatch(
      refusalPattern,
    );
    expect(await outcomeOf('https://1.1.1.1/', { ...world, answers: unknownAnswers })).toHaveLength(
      1,
    );
    const absentAnswers = { ...answers, nats: createDnsError('ENOTFOUND') };
    expect(await outcomeOf('http://api:80/', { ...world, answers: absentAnswers })).toHaveLength(1);

    const vanishingAnswers: Record<string, string[] | Error> = { ...answers };
    const guard = guardOf({ ...world, answers: vanishingAnswers });
    const vetPlace = (place: string) =>
      guard.vettedAddresses(guard.target(parseUrl(`http://${place}/`)));
    expect(await vetPlace('api:80')).toHaveLength(1);
    vanishingAnswers['nats'] = createDnsError('ENOTFOUND');
    await expect(vetPlace('alias-of-nats:4222')).rejects.toThrow();
  });
});

describe('a host name that the proxy looks up', () => {
  const own = ['nats.example:4222', '10.0.0.9:5432'];
  const world = { isResolvedByProxy: true, own, names: ['gateway.example:443'] };

  it.each([
    ['https://api.example/', 'api.example'],
    ['https://BÜCHER.example.:8443/', 'xn--bcher-kva.example'],
    ['https://local.example/', 'local.example'],
    ['https://nats.example/', 'nats.example'],
  ])('is passed on as a name: %s', async (url, name) => {
    expect(await outcomeOf(url, world)).toEqual([name]);
  });

  it.each(spellings)('is not passed on when it is the forbidden host %s', async (host) => {
    expect(await outcomeOf(`https://${host}/`, world)).toMatch(refusalPattern);
  });

  it.each([
    'http://api.example/',
    'https://gateway.example/',
    'https://nats.example:4222/',
    'https://postgres/',
    'https://printer.local/',
    'https://metadata.google.internal./',
    'https://router.home.arpa/',
    'https://a.b.corp/',
    'https://a.localhost/',
    'https://10.0.0.9/',
    'https://[fd00::1]/',
  ])('is refused at %s', async (url) => {
    expect(await outcomeOf(url, world)).toBe('upstream_refused_address');
    // These networks contain none of the addresses above, and a refused host name is never looked
    // up.
    const openedWorld = { ...world, allow: '192.168.0.0/16,127.0.0.0/8,::1/128' };
    expect(await outcomeOf(url, openedWorld)).toBe('upstream_refused_address');
  });

  it('is passed on when EGRESS_ALLOW names it with its port', async () => {
    const allow = 'git.corp:8080,10.0.0.0/8,nats.example:4222';
    const openedWorld = { ...world, allow };
    expect(await outcomeOf('http://git.corp:8080/', openedWorld)).toEqual(['git.corp']);
    expect(await outcomeOf('https://git.corp/', openedWorld)).toMatch(refusalPattern);
    expect(await outcomeOf('http://10.0.0.8/', openedWorld)).toEqual(['10.0.0.8']);
    for (const place of ['nats.example:4222', '10.0.0.9:5432']) {
      expect(await outcomeOf(`http://${place}/`, openedWorld)).toMatch(refusalPattern);
    }
  });
});

describe('a refusal by the guard', () => {
  it('is recorded as having sent nothing', () => {
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

it('ownAddressesOf lists every listener of the installation', () => {
  const settings = {
    HOST: '0.0.0.0',
    PORT: 8080,
    BASE_URL: 'https://gateway.example',
    OAUTH_URL: 'http://auth:8081',
    OAUTH_HOST: '0.0.0.0',
    OAUTH_PORT: 8081,
    NATS_URL: 'nats://executor:CANARY-password@127.0.0.1:4333, tls://nats-2,nats-3:4444?tls=off',
    DATABASE_URL: 'postgres://executor:CANARY-password@db.internal:5433/gateway',
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
      'db.internal:5433',
      '127.0.0.1:4333',
      '127.0.0.1:6222',
      '127.0.0.1:8222',
      'nats-2:4222',
      'nats-2:6222',
      'nats-2:8222',
      'nats-3:4444',
      'nats-3:6222',
      'nats-3:8222',
    ],
    names: ['gateway.example:443', 'telemetry.example:443'],
  });
  const socketSettings = { ...settings, PORT: 0, DATABASE_URL: 'postgres:///gateway?host=/run/pg' };
  expect(ownAddressesOf(socketSettings).listeners).not.toContain('0.0.0.0:0');
  expect(ownAddressesOf(socketSettings).listeners.join()).not.toContain('5432');
});

describe('every server to which the clients connect', () => {
  const base = {
    HOST: '127.0.0.1',
    PORT: 8080,
    NATS_URL: 'nats://nats',
    DATABASE_URL: 'postgres:///',
  };
  const answers = {
    'nats-1.corp': ['10.0.0.1'],
    'nats-2.corp': ['10.0.0.2'],
    'nats-2.corp.': ['10.0.0.2'],
    'db.corp': ['10.0.0.3'],
    other: ['10.0.0.4'],
  };

  it.each([
    [{ NATS_URL: 'nats://nats-1.corp:4222/,nats://nats-2.corp:4333/' }, 'nats-1.corp:4222'],
    [{ NATS_URL: 'nats://nats-1.corp:4222/,nats://nats-2.corp:4333/' }, 'nats-2.corp:4333'],
    [{ NATS_URL: 'nats://u:p@nats-1.corp,TLS://u:p,nats-2.corp/?tls=off' }, '10.0.0.2:8222'],
    [{ NATS_URL: 'nats://[::ffff:10.0.0.1]:4222' }, '10.0.0.1:4222'],
    [{ NATS_URL: 'nats://[::ffff:10.0.0.1]:4222' }, '[::ffff:10.0.0.1]:4222'],
    [{ DATABASE_URL: 'postgres:///gateway?host=db.corp' }, 'db.corp:5432'],
    [{ DATABASE_URL: 'postgres://u:p@other:5433/gateway?host=db.corp' }, '10.0.0.3:5433'],
    [{ DATABASE_URL: 'postgres:///gateway' }, '127.0.0.1:5432'],
  ])('is refused with %j: %s', async (setting, place) => {
    const { listeners: own, names } = ownAddressesOf({ ...base, ...setting });
    const world = { own, names, answers, allow: '10.0.0.0/8,127.0.0.0/8' };
    expect(await outcomeOf(`http://${place}/`, world)).toMatch(refusalPattern);
    expect(await outcomeOf('http://other/', world)).toEqual(['10.0.0.4']);
  });

  it('is refused without the dot at the end of its name, where the proxy looks names up', async () => {
    const { listeners: own, names } = ownAddressesOf({
      ...base,
      BASE_URL: 'https://gateway.example.',
      NATS_URL: 'tls://nats.example.',
    });
    for (const place of ['nats.example:4222', 'nats.example.:4222', 'gateway.example']) {
      expect(await outcomeOf(`https://${place}/`, { own, names, isResolvedByProxy: true })).toMatch(
        refusalPattern,
      );
    }
  });
});
