import { describe, expect, test } from 'vitest';

import { importChanged } from './import-changed.testing.ts';

describe('the servers of an imported document', () => {
  test.for<[what: string, servers: unknown, becomes: unknown, code: string | undefined]>([
    [
      'an https URL',
      [{ url: 'https://a.example.com/v1/' }],
      [{ url: 'https://a.example.com/v1' }],
      undefined,
    ],
    [
      'an http URL',
      [{ url: 'http://a.example.com:80' }],
      [{ url: 'https://a.example.com' }],
      'server_changed',
    ],
    ['no entry', undefined, undefined, 'needs_base_url'],
    ['a relative server', [{ url: '/v1' }], undefined, 'needs_base_url'],
    [
      'a server without scheme',
      [{ url: '//a.example.com' }],
      [{ url: 'https://a.example.com' }],
      undefined,
    ],
    [
      'variables for labels of the host',
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'demo' } } }],
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'demo' } } }],
      undefined,
    ],
    [
      'an undeclared variable',
      [{ url: 'https://{site}.example.com' }],
      [{ url: 'https://{site}.example.com', variables: { site: {} } }],
      undefined,
    ],
    [
      'variables outside the host',
      [{ url: 'https://a.example.com/{v}', variables: { v: { default: 'v3' } } }],
      [{ url: 'https://a.example.com/v3' }],
      'server_changed',
    ],
    [
      'a host that is a variable',
      [{ url: 'https://{host}/api', variables: { host: { default: 'git.example.com' } } }],
      [{ url: 'https://self-hosted.invalid/api', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    [
      'a domain that is a variable',
      [{ url: 'https://api.{domain}/v1', variables: { domain: { default: 'example.com' } } }],
      [{ url: 'https://self-hosted.invalid/v1', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    [
      'a URL that is a variable',
      [{ url: '{server}/v1', variables: { server: { default: 'https://a.example.com' } } }],
      [{ url: 'https://self-hosted.invalid', 'x-service-base-url-allowed': true }],
      'needs_base_url',
    ],
    [
      'a placeholder before and after a fixed host',
      [
        { url: 'https://{host}:{port}', variables: { host: { default: 'example.com' } } },
        { url: 'https://a.example.com' },
        { url: '{scheme}://{host}.com', variables: { host: { default: 'example' } } },
      ],
      [{ url: 'https://a.example.com' }],
      'needs_base_url',
    ],
    ['a host without scheme', [{ url: 'api.example.com/v1' }], undefined, 'needs_base_url'],
    ['a user in the URL', [{ url: 'https://me:pw@a.example.com' }], undefined, 'needs_base_url'],
    [
      'a scheme other than http and https',
      [{ url: 'ftp://a.example.com' }],
      undefined,
      'needs_base_url',
    ],
  ])('become, with %s, $2 (warning: $3)', ([, servers, becomes, code]) => {
    const { result, codes } = importChanged((d) => (d['servers'] = servers as never));
    expect(result?.['servers']).toEqual(becomes);
    expect(codes).toEqual(expect.arrayContaining(code === undefined ? [] : [code]));
  });

  test.for<[what: string, servers: unknown, becomes: string | undefined]>([
    ['relative', [{ url: '../v2' }], 'https://a.example.com/v2'],
    [
      'a path with a variable',
      [{ url: '/{v}', variables: { v: { default: 3 } } }],
      'https://a.example.com/3',
    ],
    ['empty', [{ url: '' }], 'https://a.example.com'],
    ['missing', undefined, 'https://a.example.com'],
    ['none', [], 'https://a.example.com'],
    ['a host without scheme', [{ url: 'b.example.com/v1' }], undefined],
  ])(
    'are resolved against the URL of the document, with a finding, when they are %s',
    ([, servers, becomes]) => {
      const { result, codes } = importChanged((d) => (d['servers'] = servers as never), {
        sourceUrl: 'https://a.example.com/docs/openapi.json',
      });
      expect(result?.['servers']).toEqual(becomes === undefined ? undefined : [{ url: becomes }]);
      expect(codes).toContain(becomes === undefined ? 'needs_base_url' : 'server_changed');
    },
  );

  test('are replaced by the base URL that the importing person gives', () => {
    const { result, template, codes } = importChanged(
      (d) => {
        d['servers'] = [
          { url: 'https://{domain}/api', variables: { domain: { default: 'example.com' } } },
        ];
        d.paths['/relative'] = { servers: [{ url: '/files' }], get: {} };
        d.paths['/same'] = { servers: d['servers'] as never, get: {} };
        d.paths['/other'] = { servers: [{ url: 'https://b.example.com' }], get: {} };
      },
      { baseUrl: 'https://c.example.com/api', sourceUrl: 'https://a.example.com/openapi.json' },
    );
    expect(result?.['servers']).toEqual([{ url: 'https://c.example.com/api' }]);
    expect(codes).not.toContain('needs_base_url');
    const serverAt = (path: string) =>
      Object.values(template!.actions).find((each) => each.path === path)?.server?.url;
    expect(serverAt('/relative')).toBe('https://c.example.com/files');
    expect(serverAt('/same')).toBeUndefined();
    expect(serverAt('/other')).toBe('https://b.example.com');
  });

  test('stay on operations and paths that declare other servers, up to ten of them', () => {
    const { operations, template } = importChanged((d) => {
      const server = (n: number) => [{ url: `http://more${n}.example.com/v1/` }];
      d.paths['/path'] = { servers: server(0), get: {}, put: { servers: server(1) } };
      for (let n = 2; n < 11; n += 1) d.paths[`/more/${n}`] = { get: { servers: server(n) } };
      d.paths['/again'] = { get: { servers: server(0) } };
      d.paths['/own'] = {
        get: {
          servers: [{ url: 'https://{host}', variables: { host: { default: 'a.example.com' } } }],
        },
      };
    });
    const actions = Object.values(template!.actions);
    const serverAt = (path: string, method = 'GET') =>
      actions.find((each) => each.path === path && each.method === method)?.server;

    expect(serverAt('/path')).toEqual({ url: 'https://more0.example.com/v1' });
    expect(serverAt('/path', 'PUT')).toEqual({ url: 'https://more1.example.com/v1' });
    expect(serverAt('/again')).toEqual({ url: 'https://more0.example.com/v1' });
    expect(serverAt('/pets')).toBeUndefined();
    const skipped = operations?.flatMap(({ path, skipped: reason }) =>
      reason ? [[path, reason.code]] : [],
    );
    expect(skipped).toEqual([
      ['/more/10', 'other_server'],
      ['/own', 'other_server'],
    ]);
  });

  test('are those of the operations when the document itself has no servers', () => {
    const { result, operations, template } = importChanged((d) => {
      Reflect.deleteProperty(d, 'servers');
      d.paths['/pets'] = { servers: [{ url: 'https://a.example.com' }], get: {}, post: {} };
      d.paths['/other'] = { servers: [{ url: 'https://b.example.com' }], get: {} };
    });
    expect(result?.['servers']).toEqual([{ url: 'https://a.example.com' }]);
    expect(operations?.map(({ included }) => included)).toEqual([true, true, true]);
    expect(template?.hosts).toEqual(['a.example.com', 'b.example.com']);
  });
});
