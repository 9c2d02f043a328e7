import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { makeFolder } from '../program.testing.ts';
import { answerFrom, pageOf, startWorld } from './world.testing.ts';

test('services connect --account requests an account, binds the service to it, and prints where to agree and where a secret may go', async () => {
  const hosts_added = [{ kind: 'secret', name: 'k', hosts: ['a.example', 'b.example'] }];
  const service = { name: 'tracker', tier: 'org', status: 'needs_reauth', hosts_added };
  const connection = { name: 'jira', tier: 'org', authorization_url: 'https://gw/agree' };
  await using world = await startWorld({
    answerRest: answerFrom({ 'POST /v1/services': service, 'POST /v1/connections': connection }),
  });
  const args = ['services', 'connect', 'tracker', '--org', '--account'];
  expect(await world.runHere(...args, '--variable', 'site=a=b', '--secret', 'key=k')).toMatchObject(
    {
      code: 0,
      stderr:
        'k may now also go to a.example, b.example.\nAgree in your browser: https://gw/agree\n',
    },
  );
  expect(world.gateway.calls.map(({ body }) => JSON.parse(body))).toEqual([
    { template: 'tracker', tier: 'org' },
    {
      template: 'tracker',
      tier: 'org',
      credentials: { secrets: { key: 'k' }, connection: 'org/jira' },
      variables: { site: 'a=b' },
    },
  ]);
  expect(await world.runHere(...args, '--secret', 'token')).toMatchObject({ code: 2 });
  expect(world.gateway.calls).toHaveLength(2);
});

const difference = {
  actions: {
    added: ['merge'],
    removed: [],
    changed: [{ action: 'create_issue', parts: ['request', 'parameters'] }],
  },
  hosts: { added: ['uploads.example'], removed: ['old.example'] },
  base_url: null,
  auth: { added: [], removed: [], changed: ['token'], combinations: false },
};

test('services upgrade prints no command and no line that a gateway has made up', async () => {
  const service = { name: 'github', status: 'ready.\nforged' };
  await using world = await startWorld({
    answerRest: answerFrom({
      'POST /v1/services/github/upgrade': { from: 1, to: '2;forged', difference, service },
    }),
  });
  expect(await world.runHere('services', 'upgrade', 'github', '--dry-run')).toMatchObject({
    stderr: expect.stringContaining(` services upgrade github --version '2;forged'\n`),
  });
  expect(await world.runHere('services', 'upgrade', 'github')).toMatchObject({
    stderr: expect.not.stringMatching(/^forged/m),
  });
});

test('services upgrade prints what a newer version changes, and a dry run says how to take it', async () => {
  const service = { name: 'github', status: 'ready', template_version: 2 };
  const rules_that_stop = [{ id: 'r1', pattern: 'github:create_issue:acme/*' }];
  await using world = await startWorld({
    answerRest: answerFrom({
      'POST /v1/services/github/upgrade': { from: 1, to: 2, difference, rules_that_stop, service },
    }),
  });
  expect(await world.runHere('services', 'upgrade', 'github', '--dry-run')).toEqual({
    code: 0,
    stdout: [
      'added\thost\tuploads.example',
      'removed\thost\told.example',
      'changed\tcredential\ttoken',
      'added\taction\tmerge',
      'changed\taction\tcreate_issue: request, parameters',
      'matches nothing\trule\tr1 github:create_issue:acme/*',
      '',
    ].join('\n'),
    stderr:
      'Nothing is changed. To upgrade from version 1 to this one: action-gateway services upgrade github --version 2\n',
  });
  const args = ['services', 'upgrade', 'github', '--version', '2', '--secret', 'token=t'];
  expect(await world.runHere(...args)).toMatchObject({
    code: 0,
    stderr: 'github has version 2 of its template instead of version 1, and is ready.\n',
  });
  expect(world.gateway.calls.map(({ body }) => JSON.parse(body))).toEqual([
    { dry_run: true },
    { version: 2, credentials: { secrets: { token: 't' } } },
  ]);
  const options = ['--secret', 'token=t', '--connection', 'me', '--variable', "site=it's"];
  expect(
    await world.runHere('services', 'upgrade', 'github', '--dry-run', ...options),
  ).toMatchObject({
    stderr: expect.stringContaining(
      `services upgrade github --version 2 --secret 'token=t' --connection me --variable 'site=it'\\''s'\n`,
    ),
  });
  const wrong = await world.runHere('services', 'upgrade', 'github', '--version', 'new');
  expect(wrong).toMatchObject({ code: 2, stderr: '--version is a number.' });
  expect(await world.runHere('services', 'upgrade', 'none')).toMatchObject({ code: 1 });
});

test('templates show prints the options that connect a service, and the actions', async () => {
  const template = {
    key: 'github',
    tier: 'global',
    version: 3,
    published_version: 3,
    latest_version: 4,
    hosts: ['api.github.com'],
    variables: [{ name: 'site', description: 'Your site.', default: 'www' }],
    ways: [
      [{ kind: 'secret', scheme: 'token', encoding: 'raw', sent_as: 'Authorization: Bearer' }],
      [{ kind: 'connection', scheme: 'oauth', provider: 'github', scopes: [] }],
    ],
    actions: [{ action: 'list_issues', risk: 'read', summary: 'List issues' }],
  };
  await using world = await startWorld({
    answerRest: answerFrom({ 'GET /v1/templates/github': template }),
  });
  const shown = await world.runHere('templates', 'show', 'github', '--version', '3');
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const lines = shown.stdout.replaceAll(/: +/g, ': ').split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'latest version: 4',
      'variable: site (default: www) Your site.',
      'connect with: --secret token=NAME (sent as Authorization: Bearer)',
      'connect with: --account (of the provider github)',
    ]),
  );
  expect(lines.slice(-3)).toEqual(['', 'list_issues\tread\tList issues', '']);
  expect(world.gateway.calls[0]?.path).toBe('/v1/templates/github?version=3');
  const asJson = await world.runHere('templates', 'show', 'github', '--json');
  expect(JSON.parse(asJson.stdout)).toEqual(template);
  expect(await world.runHere('templates', 'show', 'none')).toMatchObject({ code: 1 });
});

test('a large document is uploaded in parts, and no character is cut in half', async () => {
  const id = '01900000-0000-7000-8000-000000000002';
  let size = 0;
  const saved = { key: 'big', latest_version: 3 };
  const finding = { severity: 'warning', line: 7, code: 'needs_base_url', message: 'No address.' };
  await using world = await startWorld({
    answerRest: (call) => {
      const { text = '' } = call.method === 'POST' ? JSON.parse(call.body) : {};
      size += Buffer.byteLength(text);
      const upload = { id, size, progress: null };
      answerFrom({
        'POST /v1/templates/uploads': upload,
        [`POST /v1/templates/uploads/${id}/parts`]: upload,
        'POST /v1/templates/import': {
          template: saved,
          operations: [{ included: true }, { included: false }],
          operations_count: 2,
          findings: [finding],
        },
      })(call);
    },
  });
  await using folder = await makeFolder();
  const file = join(folder.path, 'big.json');
  const document = `{"title": "${'a'.repeat(699_988)}${'😀'.repeat(10)}"}`;
  await writeFile(file, document);
  const args = ['templates', 'import', file, '--key', 'big', '--org'];
  const { code, stdout, stderr } = await world.runHere(...args);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'warning\t7\tneeds_base_url\tNo address.\n',
  });
  expect(stderr).toBe(
    'big is saved as version 3, with 1 of 2 operations. Publish it: action-gateway templates publish big --org\n',
  );
  const bodies = world.gateway.calls.map(({ body }) => JSON.parse(body));
  expect(bodies.map(({ text }) => text ?? '').join('')).toBe(document);
  expect(bodies.map(({ text = '' }) => text.isWellFormed())).toEqual([true, true, true]);
  expect(bodies[1].offset).toBe(Buffer.byteLength(bodies[0].text));
  expect(bodies[2]).toEqual({ source: { upload_id: id }, key: 'big', tier: 'org' });
});

test('validating or saving a template that has errors prints them and ends with the exit code 1', async () => {
  const error = { code: 'x', message: 'Wrong.', path: '/info', line: 2 };
  const report = { valid: false, errors: [error], warnings: [] };
  let refusal: object | undefined;
  await using world = await startWorld({
    answerRest: (call) => {
      if (refusal === undefined) answerFrom({ 'POST /v1/templates/validate': report })(call);
      else call.response.writeHead(422).end(JSON.stringify(refusal));
    },
  });
  await using folder = await makeFolder();
  const file = join(folder.path, 'one.yaml');
  await writeFile(file, 'openapi: 3.1.0');
  expect(await world.runHere('templates', 'validate', file)).toEqual({
    code: 1,
    stdout: 'error\t2\tx\tWrong.\n',
    stderr: 'The template is not valid.\n',
  });
  refusal = { error: 'template_invalid', message: 'Nothing was saved.', request_id: 'r', report };
  const { code, stdout, stderr } = await world.runHere('templates', 'save', file);
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: 'error\t2\tx\tWrong.\n',
    stderr: 'Nothing was saved.\n',
  });
  const missing = await world.runHere('templates', 'validate', join(folder.path, 'none.yaml'));
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') });
});

test('services list and services show name the credentials that a provider refused', async () => {
  const service = { name: 'github', tier: 'org', title: 'GitHub', status: 'ready' };
  const refused = [
    { kind: 'secret', name: 'org/github_token', refused_at: '2026-01-01T00:00:00Z' },
    { kind: 'connection', name: 'github', refused_at: '2026-01-01T00:00:00Z' },
  ];
  await using world = await startWorld({
    answerRest: answerFrom({
      'GET /v1/services': pageOf({ ...service, refused }, service),
      'GET /v1/services/github': { name: 'github', status: 'ready', refused, actions: [{}] },
    }),
  });
  const { stdout } = await world.runHere('services', 'list');
  const cells = stdout.split('\n').map((line) => line.split('\t').slice(5));
  expect(cells).toEqual([['secret org/github_token, connection github'], [''], []]);
  const shown = await world.runHere('services', 'show', 'github');
  expect(shown.stdout.replaceAll(/: +/g, ': ').split('\n')).toEqual([
    'name: github',
    'status: ready',
    'refused: secret org/github_token, since 2026-01-01T00:00:00Z; connection github, since 2026-01-01T00:00:00Z',
    '',
  ]);
});

test('webhooks show says what became of the last delivery', async () => {
  const id = '01900000-0000-7000-8000-000000000008';
  const webhook = { id, url: 'https://hooks.example/', status: 'active' };
  const delivery = {
    type: 'approval.raised',
    status: 'pending',
    attempts: 1,
    created_at: '2026-01-01T00:00:00Z',
    last_status_code: 500,
    last_error: 'answered 500\n',
    next_attempt_at: '2026-01-01T00:05:00Z',
  };
  let deliveries: object[] = [{ ...delivery, status: 'held', attempts: 0 }, delivery];
  await using world = await startWorld({
    answerRest: (call) =>
      answerFrom({
        [`GET /v1/webhooks/${id}`]: webhook,
        [`GET /v1/webhooks/${id}/deliveries`]: pageOf(...deliveries),
      })(call),
  });
  const { code, stdout } = await world.runHere('webhooks', 'show', id);
  expect(code).toBe(0);
  expect(stdout.replaceAll(/: +/g, ': ').split('\n')).toEqual([
    `id: ${id}`,
    'url: https://hooks.example/',
    'status: active',
    'last delivery: approval.raised of 2026-01-01T00:00:00Z: pending, 1 attempt',
    'last answer: 500',
    'last error: answered 500 ',
    'next attempt: 2026-01-01T00:05:00Z',
    '',
  ]);
  const asJson = await world.runHere('webhooks', 'show', id, '--json');
  expect(JSON.parse(asJson.stdout)).toEqual({ ...webhook, last_delivery: delivery });
  deliveries = [];
  const withoutDelivery = await world.runHere('webhooks', 'show', id);
  expect(withoutDelivery).toMatchObject({ code: 0, stdout: expect.not.stringContaining('last') });
  expect(await world.runHere('webhooks', 'show', id.replace(/8$/, '9'))).toMatchObject({ code: 1 });
});

test('verifying an audit log that was changed ends with the exit code 1', async () => {
  const found = { valid: false, rows_checked: 9, first_bad_seq: 4, head: null };
  await using world = await startWorld({
    answerRest: answerFrom({ 'GET /v1/audit/verify': found }),
  });
  const { code, stderr } = await world.runHere('audit', 'verify');
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('record 4') });
});

test.each([{}, { valid: 'false', first_bad_seq: 3 }, { valid: true, first_bad_seq: 3 }])(
  'the answer %j to the verification of the audit log is not taken for a result',
  async (answer) => {
    await using world = await startWorld({
      answerRest: answerFrom({ 'GET /v1/audit/verify': answer }),
    });
    const { code, stdout, stderr } = await world.runHere('audit', 'verify');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('Nothing is verified');
  },
);

test('audit tail prints the newest record last', async () => {
  const recordOf = (seq: number) => ({
    at: `2026-01-0${seq}`,
    seq,
    type: 'action.outcome',
    identity: { path: ['ann', 'bot'] },
    outcome: 'refused',
    error: 'forbidden',
    description: 'Delete\tall',
    id: `${seq}`,
  });
  await using world = await startWorld({
    answerRest: answerFrom({ 'GET /v1/audit': pageOf(recordOf(2), recordOf(1)) }),
  });
  const { stdout } = await world.runHere('audit', 'tail', '--outcome', 'refused');
  const rest = 'action.outcome\tann/bot\trefused forbidden\tDelete all';
  expect(stdout).toBe(`2026-01-01\t${rest}\t1\n2026-01-02\t${rest}\t2\n`);
  expect(world.gateway.calls[0]?.path).toContain('outcome=refused');
});

test('audit tail --follow asks again when the gateway does not answer', async () => {
  const record = { at: '2026-01-01', seq: 1, type: 'action.outcome', outcome: 'done', error: null };
  await using world = await startWorld({
    answerRest: (call) => {
      const { length } = world.gateway.calls;
      if (length === 2) call.response.destroy();
      else answerFrom(length === 1 ? { 'GET /v1/audit': pageOf(record) } : {})(call);
    },
  });
  const { code, stdout, stderr } = await world.runHere('audit', 'tail', '--follow');
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('done') });
  expect(stderr).toContain('not_found');
  expect(world.gateway.calls).toHaveLength(3);
});

test('a user is found by e-mail address, and stdout contains nothing but the link', async () => {
  const id = '01900000-0000-7000-8000-000000000003';
  const ben = { id, email: 'ben@acme.example', path: ['ben'], role: 'auditor' };
  const link = { url: 'https://gw/link', expires_at: '2027-01-01T00:00:00Z' };
  await using world = await startWorld({
    answerRest: answerFrom({
      'GET /v1/users': pageOf(ben),
      'POST /v1/users/invitations': { ...link, user: ben },
      [`POST /v1/users/${id}/sign-in-links`]: link,
      [`PATCH /v1/users/${id}`]: ben,
      [`POST /v1/identities/${id}/archive`]: ben,
    }),
  });
  for (const args of [
    ['invite', 'ben@acme.example'],
    ['sign-in-link', 'ben'],
  ]) {
    const { code, stdout, stderr } = await world.runHere('users', ...args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'https://gw/link\n' });
    expect(stderr).toContain('Give this link to ben alone');
  }
  const changed = await world.runHere('users', 'change', 'ben', '--role', 'auditor');
  expect(changed).toMatchObject({ code: 0, stdout: 'ben is auditor, called ben.\n' });
  expect(await world.runHere('users', 'change', 'ben')).toMatchObject({ code: 2 });
  expect(await world.runHere('users', 'archive', 'ben@acme.example')).toMatchObject({ code: 0 });
  expect(await world.runHere('users', 'archive', 'eve')).toMatchObject({ code: 2 });
});
