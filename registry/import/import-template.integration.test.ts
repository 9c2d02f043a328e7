import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { once } from 'node:events';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';

import type { importTemplateBody } from '#contracts/http/template-import';
import { createRegistryWorld, importHost, testDeadline } from '../world.testing.ts';
import type { Person, RegistryWorld } from '../world.testing.ts';

let world: RegistryWorld;
beforeAll(async () => {
  world = await createRegistryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/**
 * A typical API description: OpenAPI 3.0, no operation ids, a reference, no extensions of the
 * gateway.
 */
const shopDocument = {
  openapi: '3.0.3',
  info: { title: 'Shop API', version: '1' },
  servers: [{ url: 'https://shop.example.com/api' }],
  paths: {
    '/orders': {
      get: { summary: 'List orders', responses: {} },
      post: {
        summary: 'Place an order',
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
        },
        responses: {},
      },
    },
    '/orders/{id}': {
      delete: {
        summary: 'Cancel an order',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: {},
      },
    },
  },
  components: {
    schemas: {
      Order: { type: 'object', properties: { item: { type: 'string', nullable: true } } },
    },
  },
};

type Body = z.input<typeof importTemplateBody>;
const importBody = (by: Person, body: Body) =>
  world.client.importTemplate({ principal: by.principal, body }, testDeadline());
const importText = (by: Person, documentFields: object = {}, more: Partial<Body> = {}) =>
  importBody(by, {
    source: { document: JSON.stringify({ ...shopDocument, ...documentFields }) },
    ...more,
  });
const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );

describe('importing a document', () => {
  test('saves a draft, and lists all operations with their inferred properties', async () => {
    const ann = world.person();

    const { template, operations, operations_count: count } = await importText(ann);

    expect(template).toMatchObject({
      tier: 'user',
      status: 'draft',
      version: 1,
      title: 'Shop API',
      hosts: ['shop.example.com'],
      actions_count: 3,
      difference: null,
    });
    expect(count).toBe(3);
    expect(
      operations.map(({ method, path, risk, included }) => [method, path, risk, included]),
    ).toEqual([
      ['GET', '/orders', 'read', true],
      ['POST', '/orders', 'write', true],
      ['DELETE', '/orders/{id}', 'delete', true],
    ]);
    expect(operations.every(({ inferred }) => inferred.includes('operation_id'))).toBe(true);
    const { key } = template;
    const detail = await world.client.getTemplate(
      { principal: ann.principal, key },
      testDeadline(),
    );
    expect(detail.actions.map(({ action }) => action)).toEqual(
      operations.map(({ operation_id: id }) => id),
    );
  });

  test('keeps the selected operations under the given key', async () => {
    const ann = world.person({ role: 'admin' });
    const { template, operations } = await importText(
      ann,
      {},
      { include_operations: ['GET /orders'], key: 'my-shop', tier: 'org' },
    );
    expect(template).toMatchObject({ key: 'my-shop', tier: 'org', actions_count: 1 });
    expect(operations.map(({ included }) => included)).toEqual([true, false, false]);
  });

  test('saves the next version when it is repeated, and keeps the published version', async () => {
    const ann = world.person();
    const { template } = await importText(ann);
    const { key } = template;
    const publishRequest = { principal: ann.principal, key, tier: 'user', version: 1 } as const;
    await world.client.publishTemplate(publishRequest, testDeadline());
    const { '/orders/{id}': _, ...paths } = shopDocument.paths;

    const secondImport = await importText(ann, {
      paths,
      servers: [{ url: 'https://other.example.com' }],
    });

    expect(secondImport.template).toMatchObject({
      version: 2,
      published_version: 1,
      difference: {
        actions: { removed: [expect.any(String)] },
        hosts: { added: ['other.example.com'], removed: ['shop.example.com'] },
      },
    });
  });

  test('saves a draft at the base URL that is given, and refuses one that cannot be used', async () => {
    const ann = world.person();
    const { template } = await importText(
      ann,
      { servers: undefined },
      { base_url: 'https://shop.example.net/api/' },
    );
    expect(template.hosts).toEqual(['shop.example.net']);
    const { key } = template;
    const publishRequest = { principal: ann.principal, key, tier: 'user', version: 1 } as const;
    expect(await outcomeOf(world.client.publishTemplate(publishRequest, testDeadline()))).toBe(
      'ok',
    );
    const refused = importText(ann, {}, { base_url: 'http://shop.example.net' });
    expect(await outcomeOf(refused)).toBe('invalid_params');
  });

  test('saves a draft that cannot be published when the document has no servers', async () => {
    const ann = world.person();
    const { template, findings } = await importText(ann, { servers: undefined });
    expect(findings.map(({ code }) => code)).toContain('needs_base_url');
    const { key } = template;
    const publishRequest = { principal: ann.principal, key, tier: 'user', version: 1 } as const;
    expect(await outcomeOf(world.client.publishTemplate(publishRequest, testDeadline()))).toBe(
      'template_invalid',
    );
  });

  test.for<[why: string, document: string]>([
    ['that is cut off', '{"openapi": "3.0.3", "paths": {'],
    ['that is not an OpenAPI document', '{"hello": "world"}'],
    ['of Swagger 1.2', '{"swagger": "1.2", "info": {"title": "a"}, "paths": {}}'],
    ['with excessive nesting', '['.repeat(100_000)],
    ['that is a page of HTML', '<!doctype html><title>Sign in</title>'],
  ])('saves nothing and reports the reason for a document %s', async ([, document]) => {
    const ann = world.person();
    await expect(importBody(ann, { source: { document } })).rejects.toMatchObject({
      code: 'template_invalid',
      details: { report: { valid: false, errors: [{ message: expect.any(String) }] } },
    });
    const page = { limit: 200, cursor: null };
    const { items } = await world.client.listTemplates(
      { principal: ann.principal, page },
      testDeadline(),
    );
    expect(items.filter(({ tier }) => tier !== 'global')).toEqual([]);
  });

  test.for<[who: string, fields: Parameters<RegistryWorld['person']>[0], tier: 'user' | 'org']>([
    ['agents', { kind: 'agent' }, 'user'],
    ['auditors', { role: 'auditor' }, 'user'],
    ['members when the template is for the org', { role: 'member' }, 'org'],
  ])('is forbidden for %s', async ([, fields, tier]) => {
    expect(await outcomeOf(importText(world.person(fields), {}, { tier }))).toBe('forbidden');
  });
});

describe('importing by URL', () => {
  /** Starts an HTTP server at the only private address that the operator of the test allows. */
  async function serveAt(listener: RequestListener): Promise<AsyncDisposable> {
    const server = createServer(listener);
    server.listen(Number(importHost.split(':')[1]), '127.0.0.1');
    await once(server, 'listening');
    return {
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  }

  test('fetches the document once, and stores its URL', async () => {
    const requestedPaths: (string | undefined)[] = [];
    await using _ = await serveAt((request, reply) => {
      requestedPaths.push(request.url);
      reply.end(JSON.stringify(shopDocument));
    });
    const ann = world.person();
    const url = `http://${importHost}/openapi.json`;

    const { template } = await importBody(ann, {
      source: { url: `${url}?token=CANARY-query#part` },
    });

    expect(requestedPaths).toEqual(['/openapi.json?token=CANARY-query']);
    const versions = await world.client.listTemplateVersions(
      { principal: ann.principal, key: template.key, page: { limit: 5, cursor: null } },
      testDeadline(),
    );
    expect(versions.items).toMatchObject([{ version: 1, source_url: url }]);
  });

  test('does not fetch remote references', async () => {
    const requestedPaths: (string | undefined)[] = [];
    await using _ = await serveAt((request, reply) => {
      requestedPaths.push(request.url);
      const schema = { $ref: `http://${importHost}/order.json` };
      const content = { 'application/json': { schema } };
      const paths = { '/orders': { post: { requestBody: { content }, responses: {} } } };
      reply.end(JSON.stringify({ ...shopDocument, paths }));
    });
    await importBody(world.person(), { source: { url: `http://${importHost}/openapi.json` } });
    expect(requestedPaths).toEqual(['/openapi.json']);
  });

  test('follows redirects, and checks the URL of each redirect like the first URL', async () => {
    await using _ = await serveAt((request, reply) => {
      const redirectTargets: Record<string, string> = {
        '/moved': '/openapi.json',
        '/private': 'http://127.0.0.1:4011/openapi.json',
        '/metadata': 'http://169.254.169.254/latest/meta-data/',
        '/file': 'file:///etc/passwd',
        '/user': `http://me@${importHost}/openapi.json`,
        '/loop': '/loop',
      };
      const location = redirectTargets[request.url ?? ''];
      if (location === undefined) reply.end(JSON.stringify(shopDocument));
      else reply.writeHead(302, { location }).end();
    });
    const importFromUrl = (path: string) =>
      outcomeOf(importBody(world.person(), { source: { url: `http://${importHost}${path}` } }));

    expect(await importFromUrl('/moved')).toBe('ok');
    expect(await importFromUrl('/private')).toBe('upstream_refused_address');
    expect(await importFromUrl('/metadata')).toBe('upstream_refused_address');
    expect(await importFromUrl('/file')).toBe('upstream_refused_address');
    expect(await importFromUrl('/user')).toBe('invalid_request');
    expect(await importFromUrl('/loop')).toBe('invalid_params');
  });

  test.for<[why: string, url: string, outcome: string]>([
    ['a private address', 'http://127.0.0.1:4011/openapi.json', 'upstream_refused_address'],
    [
      'an address in a private network',
      'https://10.2.0.1/openapi.json',
      'upstream_refused_address',
    ],
    [
      'the metadata service of a cloud',
      'http://169.254.169.254/latest/meta-data/',
      'upstream_refused_address',
    ],
    ['the IPv6 loopback address', 'https://[::1]/openapi.json', 'upstream_refused_address'],
    [
      'a public host with plain http',
      'http://example.com/openapi.json',
      'upstream_refused_address',
    ],
    ['a file', 'file:///etc/passwd', 'invalid_request'],
    ['a host with a user name before it', `http://me:secret@${importHost}/`, 'invalid_request'],
  ])('refuses the URL of %s', async ([, url, outcome]) => {
    expect(await outcomeOf(importBody(world.person(), { source: { url } }))).toBe(outcome);
  });

  test('reports a response that is not a document', async () => {
    await using _ = await serveAt((request, reply) => {
      if (request.url === '/large') reply.writeHead(200, { 'content-length': '67108865' }).end();
      else reply.writeHead(404).end();
    });
    const importFromUrl = (path: string) =>
      importBody(world.person(), { source: { url: `http://${importHost}${path}` } });
    await expect(importFromUrl('/none')).rejects.toMatchObject({
      code: 'invalid_params',
      details: { issues: [{ path: 'source.url', message: expect.stringContaining('404') }] },
    });
    await expect(importFromUrl('/large')).rejects.toMatchObject({ code: 'response_too_large' });
  });
});

describe('uploading a document in parts', () => {
  const start = (by: Person, text: string) =>
    world.client.startUpload({ principal: by.principal, text }, testDeadline());
  const add = (by: Person, { id, size }: { id: string; size: number }, text: string) =>
    world.client.continueUpload(
      { principal: by.principal, id, text, offset: size },
      testDeadline(),
    );

  test('imports all parts as one document', async () => {
    const ann = world.person();
    const text = JSON.stringify({
      ...shopDocument,
      info: { ...shopDocument.info, description: 'ä€😀'.repeat(400_000) },
    });
    let uploaded = await start(ann, text.slice(0, 500_001));
    for (let at = 500_001; at < text.length; at += 500_000) {
      uploaded = await add(ann, uploaded, text.slice(at, at + 500_000));
    }
    expect(uploaded.size).toBe(Buffer.byteLength(text));

    const { template } = await importBody(ann, { source: { upload_id: uploaded.id } });
    expect(template).toMatchObject({ title: 'Shop API', actions_count: 3 });
  });

  test('accepts each part once, and only in order', async () => {
    const ann = world.person();
    const begunUpload = await start(ann, 'openapi: ');
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map(() => outcomeOf(add(ann, begunUpload, '3.1.0'))),
    );
    expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
    await expect(add(ann, begunUpload, 'x')).rejects.toMatchObject({ details: { size: 14 } });
  });

  test('is possible only for the owner of the upload', async () => {
    const ann = world.person();
    const begunUpload = await start(ann, JSON.stringify(shopDocument));
    for (const other of [
      world.person({ orgId: ann.orgId }),
      world.person({ userId: ann.userId }),
    ]) {
      expect(await outcomeOf(add(other, begunUpload, ' '))).toBe('not_found');
      const body = { source: { upload_id: begunUpload.id } };
      expect(await outcomeOf(importBody(other, body))).toBe('not_found');
    }
    expect(await outcomeOf(start(world.person({ kind: 'agent' }), 'x'))).toBe('forbidden');
  });

  test('is limited to 64 MiB, five uploads at once, and an hour', async () => {
    const ann = world.person();
    const begunUpload = await start(ann, 'x');
    const fullUpload = { ...begunUpload, size: 67_108_864 };
    expect(await outcomeOf(add(ann, fullUpload, 'x'))).toBe('too_large');
    const more = await Promise.all([1, 2, 3, 4, 5].map(() => outcomeOf(start(ann, 'x'))));
    expect(more.toSorted()).toEqual(['conflict', 'ok', 'ok', 'ok', 'ok']);
    await world.db`update registry.upload set expires_at = now() where owner_id = ${ann.userId}`;
    expect(await outcomeOf(add(ann, begunUpload, 'x'))).toBe('not_found');
    expect(await outcomeOf(start(ann, 'x'))).toBe('ok');
    const [left] = await world.db`
      select count(*)::integer as uploads from registry.upload where owner_id = ${ann.userId}
    `;
    expect(left).toEqual({ uploads: 1 });
  });

  test('refuses a part that ends inside a character', async () => {
    expect(await outcomeOf(start(world.person(), 'a\ud83d'))).toBe('invalid_request');
  });
});
