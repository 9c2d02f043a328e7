import { successfulBodyOf, pollUntil } from '../../support/world.ts';
import { costlyEntry, createNamePool } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

/** The entry points that fetch an OpenAPI document for an import, or send requests to a webhook. */
export function createDocumentEntries({ admin, site }: Stage): Entry[] {
  const importFrom = (url: string) => admin.post('/v1/templates/import', { source: { url } });
  const withTemplateKey = createNamePool('i');
  const subscribeWebhook = async (url: string) => {
    const reply = await admin.post('/v1/webhooks', { url });
    if (reply.status > 299) return;
    const { id } = successfulBodyOf(reply);
    try {
      // The gateway answers first, and sends the webhook's handshake afterwards.
      await pollUntil(async () => {
        const { items } = successfulBodyOf(await admin.get(`/v1/webhooks/${id}/deliveries`));
        return items[0]?.last_error !== null;
      }, 'the handshake');
    } finally {
      await admin.delete(`/v1/webhooks/${id}`);
    }
  };

  return [
    { name: 'the import of a template', oneOf: 307, attemptsAtOnceMax: 2, attempt: importFrom },
    {
      name: 'a redirect of an import',
      ...costlyEntry,
      attemptsAtOnceMax: 2,
      attempt: (url) => importFrom(site.at('redirect', url)),
    },
    {
      name: 'a reference in an imported document',
      ...costlyEntry,
      attemptsAtOnceMax: 2,
      isNeverCalled: true,
      attempt: (url) =>
        withTemplateKey(async (key) => {
          const source = { document: JSON.stringify(createReferringDocument(url)) };
          await admin.post('/v1/templates/import', { source, key, tier: 'org' });
          return true;
        }),
    },
    { name: 'a webhook', ...costlyEntry, attempt: subscribeWebhook },
    {
      name: 'a redirect of a webhook',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => subscribeWebhook(site.at('redirect', url)),
    },
  ];
}

/** An OpenAPI document with the URL in every field that a reader of documents might fetch. */
function createReferringDocument(url: string): object {
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
