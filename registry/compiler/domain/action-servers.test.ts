import { describe, expect, test } from 'vitest';

import { compiledTemplate } from '#contracts/template';
import { compileExample, setMember } from './compile-example.testing.ts';
import type { Change } from './compile-example.testing.ts';
import { createNote, listNotes } from './example-document.testing.ts';
import type { ExampleDocument } from './example-document.testing.ts';

const content = { url: 'https://content.example.com/2/' };

const pathOf = (document: ExampleDocument) => document.paths['/projects/{project}/notes'] ?? {};
const withServers =
  (servers: unknown): Change =>
  (document) =>
    setMember(createNote(document), 'servers', servers);

function errorsAt(change: Change): string[] {
  return compileExample(change).report.errors.map(({ code, path }) => `${code} ${path}`);
}

describe('a server of a path or operation', () => {
  test('replaces the server of the document for its action, and adds its host to the template', () => {
    const { template, report } = compileExample(withServers([content]));

    expect(report.errors).toEqual([]);
    expect(template?.actions['create_note']?.server).toEqual({
      url: 'https://content.example.com/2',
    });
    expect(template?.actions['list_notes']).not.toHaveProperty('server');
    expect(template?.hosts).toEqual(['api.example.com', 'content.example.com']);
    expect(template?.server?.url).toBe('https://api.example.com/v1');
  });

  test('is taken from the operation before it is taken from the path', () => {
    const { template } = compileExample((document) => {
      setMember(pathOf(document), 'servers', [{ url: 'https://path.example.com' }]);
      withServers([{ ...content, base_path: '/content' }])(document);
    });

    expect(template?.actions['list_notes']?.server).toEqual({ url: 'https://path.example.com' });
    expect(template?.actions['create_note']?.server).toEqual({
      url: 'https://content.example.com/2',
      basePath: '/content',
    });
  });

  test('makes earlier releases refuse the template, because they would ignore the server', () => {
    const earlier = compiledTemplate.extend({
      runtime: compiledTemplate.shape.runtime.exclude(['http_servers']),
    });
    const [plain, own] = [compileExample(), compileExample(withServers([content]))];

    expect(earlier.safeParse(plain.template).success).toBe(true);
    expect(earlier.safeParse(own.template).success).toBe(false);
    expect(compiledTemplate.safeParse(own.template).success).toBe(true);
  });

  const at = 'paths/~1projects~1{project}~1notes/post/servers';
  test.for<[what: string, servers: unknown, error: string]>([
    ['none', [], `server_invalid /${at}`],
    ['two', [content, content], `server_invalid /${at}`],
    ['text', ['https://content.example.com'], `server_invalid /${at}`],
    ['no URL', [{}], `required_field_missing /${at}/0`],
    ['http', [{ url: 'http://content.example.com' }], `server_not_https /${at}/0/url`],
    ['a relative URL', [{ url: '/2' }], `server_invalid /${at}/0/url`],
    ['a user', [{ url: 'https://a:b@content.example.com' }], `server_invalid /${at}/0/url`],
    ['a query', [{ url: 'https://content.example.com/?a=1' }], `server_invalid /${at}/0/url`],
    ['a fragment', [{ url: 'https://content.example.com/#a' }], `server_invalid /${at}/0/url`],
    ['an empty label', [{ url: 'https://content..example.com' }], `server_invalid /${at}/0/url`],
    ['a dot segment', [{ url: 'https://content.example.com/a/..' }], `server_invalid /${at}/0/url`],
    [
      'a variable',
      [{ url: 'https://{site}.example.com', variables: { site: { default: 'a' } } }],
      `server_variable /${at}/0/url`,
    ],
    [
      'a base path of dots',
      [{ ...content, base_path: '/../a' }],
      `server_invalid /${at}/0/base_path`,
    ],
    [
      'a base path without slash',
      [{ ...content, base_path: 'a' }],
      `server_invalid /${at}/0/base_path`,
    ],
    [
      'security schemes',
      [{ ...content, 'x-service-for': ['token'] }],
      `misplaced_extension /${at}/0/x-service-for`,
    ],
  ])('is refused with %s', ([, servers, error]) => {
    expect(errorsAt(withServers(servers))).toContain(error);
  });

  test('points to the line of the mistake', () => {
    const { report } = compileExample(withServers([{ url: 'http://content.example.com' }]));
    expect(report.errors[0]?.line).toBeGreaterThan(1);
  });

  test('is refused when the template already has ten', () => {
    const errors = errorsAt((document) => {
      for (let n = 0; n < 11; n += 1) {
        document.paths[`/more/${n}`] = {
          get: {
            operationId: `more_${n}`,
            summary: 'More',
            servers: [{ url: `https://more${n}.example.com` }],
          },
        };
      }
    });
    expect(errors).toEqual(['out_of_bounds /paths']);
  });

  test('is refused on a host where the account determines the path', () => {
    const errors = errorsAt((document) => {
      document.components.securitySchemes['account'] = {
        type: 'oauth2',
        provider: 'acme',
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://acme.example/authorize',
            tokenUrl: 'https://acme.example/token',
            scopes: {},
          },
        },
      };
      document.security = [{ account: [] }];
      const account = { get: 'https://sites.example.com/sites', items: '.[]', value: '.id' };
      document.servers = [
        {
          url: 'https://sites.example.com/ex/{site}',
          for: ['account'],
          variables: { site: { default: '', account } },
        },
      ];
      setMember(listNotes(document), 'servers', [{ url: 'https://sites.example.com/ex/other' }]);
    });
    expect(errors).toEqual(['server_invalid /paths']);
  });

  test('is refused on a host to which only credentials of other schemes go', () => {
    const { report } = compileExample(withServers([{ ...content, base_url_allowed: true }]));
    expect(report.errors.map(({ code }) => code)).toEqual(['unknown_field']);
  });
});
