import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCanary } from '../support/canaries.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, pollUntil, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

describe('operations that have their own server', () => {
  const stack = new AsyncDisposableStack();
  const token = createCanary();
  let world: World;
  let api: Upstream;
  let files: Upstream;
  let furtherUpstream: Upstream;
  let bot: Agent;
  let secretId: string;

  const fileParam =
    'parameters: [{ name: name, in: path, required: true, schema: { type: string } }]';
  const templateWith = (paths: string) => `openapi: 3.1.0
info: { title: Notes, key: notes }
servers: [{ url: '${api.url}/v1', base_url_allowed: true }]
paths:
  /notes: { get: { operationId: list_notes, summary: List notes } }
${paths}
components:
  securitySchemes: { token: { type: http, scheme: bearer, default_secret_name: notes_token } }
`;
  const ownPaths = () => `  /files/{name}:
    servers: [{ url: '${files.url}/v2' }]
    put: { operationId: upload_file, summary: 'Upload {name}', ${fileParam} }
    get:
      operationId: get_file
      summary: 'Read {name}'
      servers: [{ url: '${files.url}/v2', base_path: /content }]
      ${fileParam}
`;
  const callOf = (action: string, service = 'notes') => ({
    service,
    action,
    params: { name: 'a.txt' },
  });
  const hitsOf = (upstream: Upstream) =>
    upstream.hits.map(({ method, url, headers }) => [method, url, headers.authorization]);

  beforeAll(async () => {
    api = stack.use(await startUpstream());
    files = stack.use(await startUpstream());
    furtherUpstream = stack.use(await startUpstream());
    const hosts = [api.host, files.host, furtherUpstream.host].join(',');
    world = stack.use(await startWorld({ EGRESS_ALLOW: hosts }));
    const { admin } = world;
    bot = await createAgent(world.url, admin, 'bot');
    successfulBodyOf(await admin.post('/v1/templates', { openapi: templateWith('') }));
    successfulBodyOf(await admin.post('/v1/templates/notes/publish', { version: 1 }));
    const secret = { name: 'notes_token', value: token, allowed_hosts: [api.host] };
    secretId = successfulBodyOf(await admin.post('/v1/secrets', secret)).id;
    successfulBodyOf(await admin.post('/v1/services', { template: 'notes' }));
    const openapi = templateWith(ownPaths());
    successfulBodyOf(await admin.put('/v1/templates/notes', { openapi, version: 1 }));
    successfulBodyOf(await admin.post('/v1/templates/notes/publish', { version: 2 }));
  });
  afterAll(() => stack.disposeAsync());

  test('do not get the service’s credential until a person names it again for the new host', async () => {
    const { admin } = world;
    expect((await bot.post('/v1/actions/call', callOf('get_file'))).body.error).toBe(
      'unknown_action',
    );
    const refused = await admin.post('/v1/services/notes/upgrade', {});
    expect(refused.body).toMatchObject({
      error: 'host_not_allowed',
      hosts: [files.host],
    });
    expect(hitsOf(files)).toEqual([]);

    const dryRun = successfulBodyOf(
      await admin.post('/v1/services/notes/upgrade', { dry_run: true }),
    );
    expect(dryRun.difference.hosts).toEqual({ added: [files.host], removed: [] });
    const credentials = { secrets: { token: 'notes_token' } };
    const { service } = successfulBodyOf(
      await admin.post('/v1/services/notes/upgrade', { credentials }),
    );
    expect(service).toMatchObject({ hosts: [api.host, files.host], base_url: `${api.url}/v1` });
    const secret = successfulBodyOf(await admin.get(`/v1/secrets/${secretId}`));
    expect(secret.allowed_hosts.toSorted()).toEqual([api.host, files.host].toSorted());
  });

  test('are shown and called at their own server, with the credential', async () => {
    const { admin } = world;
    const url = `${files.url}/v2/files/a.txt`;
    const call = callOf('upload_file');
    expect(successfulBodyOf(await bot.post('/v1/actions/validate', call)).request.url).toBe(url);

    const { approval_id: id } = successfulBodyOf(await bot.post('/v1/actions/call', call));
    expect(successfulBodyOf(await admin.get(`/v1/approvals/${id}`)).request.url).toBe(url);
    successfulBodyOf(await admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
    await pollUntil(() => files.hits.length > 0, 'the replay');
    expect(hitsOf(files)).toEqual([['PUT', '/v2/files/a.txt', `Bearer ${token}`]]);
    expect(hitsOf(api)).toEqual([]);

    const template = successfulBodyOf(await admin.get('/v1/templates/notes'));
    expect(template).toMatchObject({ runtime: 'http', hosts: [api.host, files.host] });
    expect(template.actions).toContainEqual(
      expect.objectContaining({ action: 'upload_file', server: `${files.url}/v2` }),
    );
  });

  test('are disabled in a service with a custom base URL, unless they declare a path below it', async () => {
    const { admin } = world;
    const baseUrl = `${api.url}/self`;
    const service = successfulBodyOf(
      await admin.post('/v1/services', { template: 'notes', name: 'own', base_url: baseUrl }),
    );
    const disabled = [
      { action: 'upload_file', reason: expect.stringContaining(`${files.url}/v2`) },
    ];
    expect(service).toMatchObject({ actions_count: 2, disabled_actions: disabled });
    expect(service.hosts).toEqual([api.host]);

    const call = callOf('upload_file', 'own');
    for (const path of ['/v1/actions/call', '/v1/actions/validate']) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect((await bot.post(path, call)).body).toMatchObject({
        error: 'action_disabled',
        reason: 'action_server',
        server: `${files.url}/v2`,
        base_url: baseUrl,
      });
    }
    const { items } = successfulBodyOf(await bot.get('/v1/search?q=upload&service=own'));
    expect(items[0]).toMatchObject({ action: 'upload_file', disabled: disabled[0]?.reason });
    const ready = successfulBodyOf(await bot.get('/v1/search?q=upload&service=notes'));
    expect(ready.items[0]).not.toHaveProperty('disabled');

    const filesHits = files.hits.length;
    const { body } = await bot.post('/v1/actions/call', callOf('get_file', 'own'));
    expect(body).toMatchObject({ status: 'called', result: { status_code: 200 } });
    expect(hitsOf(api).at(-1)).toEqual(['GET', '/self/content/files/a.txt', `Bearer ${token}`]);
    expect(files.hits).toHaveLength(filesHits);
  });

  test('leave a deny effective for raw calls, also at a further address of the template (also_at)', async () => {
    const { admin } = world;
    const allowedAgent = await createAgent(world.url, admin, 'free');
    const deniedAgent = await createAgent(world.url, admin, 'denied');
    for (const { id } of [allowedAgent, deniedAgent]) {
      const rule = { identity_id: id, effect: 'allow', pattern: 'http:*:*' };
      // oxlint-disable-next-line no-await-in-loop -- one after another
      successfulBodyOf(await admin.post('/v1/rules', rule));
    }
    const deny = { identity_id: deniedAgent.id, effect: 'deny', pattern: 'notes:list_notes:*' };
    successfulBodyOf(await admin.post('/v1/rules', deny));
    const callRaw = async (agent: Agent, path: string) => {
      const call = { service: 'http', method: 'GET', url: `${furtherUpstream.url}${path}` };
      const { body } = await agent.post('/v1/actions/call', call);
      return body.error ?? body.status;
    };
    expect(await callRaw(deniedAgent, '/ex/acme/notes')).toBe('called');

    const openapi = `${templateWith(ownPaths())}also_at: ['${furtherUpstream.url}/ex/{site}']\n`;
    const saved = await admin.put('/v1/templates/notes', { openapi, version: 2 });
    expect(successfulBodyOf(saved)).toMatchObject({ hosts: [api.host, files.host] });
    successfulBodyOf(await admin.post('/v1/templates/notes/publish', { version: 3 }));
    await pollUntil(
      async () => (await callRaw(deniedAgent, '/ex/acme/notes')) === 'denied',
      'the deny at the further address',
    );
    const hitsBefore = furtherUpstream.hits.length;
    for (const path of ['/ex/acme/notes', '/ex/beta/notes', '/EX/acme/notes/', '/elsewhere']) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect(await callRaw(deniedAgent, path), path).toBe('denied');
    }
    expect(furtherUpstream.hits).toHaveLength(hitsBefore);
    expect(await callRaw(allowedAgent, '/ex/acme/notes')).toBe('called');
    // The service's credential may still not be sent to this host.
    const secret = successfulBodyOf(await admin.get(`/v1/secrets/${secretId}`));
    expect(secret.allowed_hosts).not.toContain(furtherUpstream.host);
  });
});
