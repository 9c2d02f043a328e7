import { created, until } from '../support/world.ts';
import { costly, createNames } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

/** Imported documents and webhooks. */
export function documentEntries({ admin, site }: Stage): Entry[] {
  const importFrom = (url: string) => admin.post('/v1/templates/import', { source: { url } });
  const imported = createNames('i');
  const subscribe = async (url: string) => {
    const reply = await admin.post('/v1/webhooks', { url });
    if (reply.status > 299) return;
    const { id } = created(reply);
    try {
      // The handshake leaves behind the answer.
      await until(async () => {
        const { items } = created(await admin.get(`/v1/webhooks/${id}/deliveries`));
        return items[0]?.last_error !== null;
      }, 'the handshake');
    } finally {
      await admin.delete(`/v1/webhooks/${id}`);
    }
  };

  return [
    { name: 'the import of a template', oneOf: 79, atOnce: 2, attempt: importFrom },
    {
      name: 'a redirect of an import',
      ...costly,
      atOnce: 2,
      attempt: (url) => importFrom(site.at('redirect', url)),
    },
    {
      name: 'what an imported document refers to',
      ...costly,
      atOnce: 2,
      isNeverCalled: true,
      attempt: (url) =>
        imported(async (key) => {
          const source = { document: JSON.stringify(referringTo(url)) };
          await admin.post('/v1/templates/import', { source, key, tier: 'org' });
          return true;
        }),
    },
    { name: 'a webhook', ...costly, attempt: subscribe },
    {
      name: 'a redirect of a webhook',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => subscribe(site.at('redirect', url)),
    },
  ];
}

/** Everything in a document that somebody could want to fetch. */
function referringTo(url: string): object {
  const content = { 'application/json': { schema: { $ref: `${url}#/a` } } };
  return {
    openapi: '3.1.0',
    $schema: url,
    jsonSchemaDialect: url,
    info: { title: 'Referring', version: '1', termsOfService: url, 'x-logo': { url } },
    externalDocs: { url },
    servers: [{ url: 'https://api.example.com' }],
    paths: {
      '/a': {
        get: { operationId: 'a', summary: 'A', responses: { 200: { description: 'A', content } } },
        post: { operationId: 'b', summary: 'B', requestBody: { content }, responses: {} },
      },
      '/b': { $ref: url },
    },
    components: {
      schemas: { A: { $ref: url }, B: { $id: url, $dynamicRef: `${url}#b` } },
      examples: { a: { externalValue: url } },
      securitySchemes: {
        oidc: { type: 'openIdConnect', openIdConnectUrl: url },
        oauth: {
          type: 'oauth2',
          flows: {
            authorizationCode: {
              authorizationUrl: url,
              tokenUrl: url,
              refreshUrl: url,
              scopes: {},
            },
          },
        },
      },
    },
    security: [{ oidc: [] }, { oauth: [] }],
  };
}
