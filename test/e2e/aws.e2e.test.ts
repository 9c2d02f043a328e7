import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { beforeAll, describe, expect, test } from 'vitest';

import { refusalOfSignature } from '../../executor/derived-credentials/aws.testing.ts';
import { createCanary } from '../support/canaries.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const accessKeyId = 'AKIAEXAMPLE';
const secretKey = createCanary();

/**
 * A server that stores objects like S3. It accepts only requests that are signed for its region.
 */
async function startStore() {
  const objects = new Map<string, string>();
  const account = {
    keys: new Map([[accessKeyId, { secret: secretKey }]]),
    region: 'eu-west-1',
    service: 's3',
    now: () => Date.now(),
  };
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const body = Buffer.concat(chunks);
      const code = refusalOfSignature({ method, url, headers, body }, account);
      const key = decodeURIComponent(url.split('?')[0] ?? '');
      reply.setHeader('content-type', code === undefined ? 'text/plain' : 'application/xml');
      if (code !== undefined) reply.statusCode = 403;
      if (code === undefined && method === 'PUT') objects.set(key, body.toString());
      const error = `<Error><Code>${code}</Code><Message>${code}</Message></Error>`;
      reply.end(code === undefined ? (objects.get(key) ?? '') : error);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    objects,
    host,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a service for Amazon S3 with a custom base URL', () => {
  let world: World;
  let bot: Agent;
  let store: Awaited<ReturnType<typeof startStore>>;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    store = stack.use(await startStore());
    world = stack.use(await startWorld({ EGRESS_ALLOW: store.host }));
    bot = await createAgent(world.url, world.admin, 'keeper');
    return () => stack.disposeAsync();
  });

  const connectS3Service = async (name: string, credentialParts: object) => {
    const value = JSON.stringify({
      access_key_id: accessKeyId,
      secret_access_key: secretKey,
      ...credentialParts,
    });
    const hosts = [store.host];
    successfulBodyOf(await world.admin.post('/v1/secrets', { name, value, allowed_hosts: hosts }));
    const service = { template: 'aws_s3', name, base_url: `http://${store.host}` };
    successfulBodyOf(
      await world.admin.post('/v1/services', {
        ...service,
        credentials: { secrets: { key: name } },
      }),
    );
  };
  const call = (service: string, action: string, params: object) =>
    world.admin.post('/v1/actions/call', { service, action, params });

  test('stores an object that an agent writes, once a person has allowed it, and returns the object', async () => {
    await connectS3Service('files', { region: 'eu-west-1' });
    const object = { Bucket: 'acme', Key: 'reports/May (1)+é.txt' };
    const raisedApproval = successfulBodyOf(
      await bot.post('/v1/actions/call', {
        service: 'files',
        action: 'put_object',
        params: { ...object, body: 'Grüße' },
      }),
    );
    const resolvePath = `/v1/approvals/${raisedApproval.approval_id}/resolve`;
    successfulBodyOf(await world.admin.post(resolvePath, { resolution: 'allow' }));
    await expect
      .poll(() => [...store.objects])
      .toEqual([[`/${object.Bucket}/${object.Key}`, 'Grüße']]);

    const { result } = successfulBodyOf(await call('files', 'get_object', object));
    expect(result).toMatchObject({ status_code: 200, body: 'Grüße' });
  });

  test('accepts a call to a full URL, signed with the secret that the call names', async () => {
    store.objects.set('/acme/a b.txt', 'plain');
    const signSettings = { type: 'aws_sigv4', service: 's3', region: 'eu-west-1' };
    const signingSecret = { name: 'files', in: 'header', key: 'Authorization', sign: signSettings };
    const rawCall = {
      service: 'http',
      method: 'GET',
      url: `http://${store.host}/acme/a%20b.txt?x=1`,
      secrets: [signingSecret],
    };
    const raisedApproval = successfulBodyOf(await bot.post('/v1/actions/call', rawCall));
    expect(raisedApproval.permission_keys).toContain(`secret:files:${store.host}`);
    const card = successfulBodyOf(
      await world.admin.get(`/v1/approvals/${raisedApproval.approval_id}`),
    );
    expect(card.request.credentials).toMatchObject([
      { name: 'files', key: 'Authorization', prefix: 'AWS4-HMAC-SHA256 s3/eu-west-1 ' },
    ]);

    const { result } = successfulBodyOf(await world.admin.post('/v1/actions/call', rawCall));
    expect(result).toMatchObject({ status_code: 200, body: 'plain' });
    const misplacedSignatureCall = { ...rawCall, secrets: [{ ...signingSecret, key: 'X-Key' }] };
    expect((await world.admin.post('/v1/actions/call', misplacedSignatureCall)).status).toBe(400);
  });

  test('refuses a request that names a second object, because no deny would apply to that object', async () => {
    const copy = {
      method: 'PUT',
      headers: { 'x-amz-copy-source': '/payroll/salaries.csv' },
    };
    const asService = { ...copy, service: 'files', path: '/acme/copy.csv' };
    const url = `http://${store.host}/acme/copy.csv`;
    for (const each of [asService, { ...copy, service: 'http', url }]) {
      const { status, body } = await world.admin.post('/v1/actions/call', each);
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: 'invalid_params' });
      expect(JSON.stringify(body)).toContain('names a second resource');
    }
    expect([...store.objects.keys()]).not.toContain('/acme/copy.csv');
  });

  test('reports that the key is refused for another region, without showing the key', async () => {
    await connectS3Service('elsewhere', { region: 'us-east-1' });
    const reply = successfulBodyOf(await call('elsewhere', 'list_buckets', {}));
    expect(reply.result.failure).toEqual({
      kind: 'credential_refused',
      message: 'AuthorizationHeaderMalformed',
      nothing_done: true,
      secret: { name: 'elsewhere', template: 'aws_s3' },
      next: {
        method: 'POST',
        path: '/v1/secrets/requests',
        body: { name: 'elsewhere', template: 'aws_s3' },
        say: expect.stringContaining('enters a new value'),
      },
    });
    const events = successfulBodyOf(await world.admin.get('/v1/audit?limit=100'));
    expect(JSON.stringify([reply, events])).not.toContain(secretKey);
  });

  test('says that the region is missing when neither the address nor the secret contains one', async () => {
    await connectS3Service('nowhere', {});
    const { status, body } = await call('nowhere', 'list_buckets', {});
    expect(status).toBe(424);
    expect(body).toMatchObject({ error: 'credential_missing', parts: ['region'] });
  });
});
