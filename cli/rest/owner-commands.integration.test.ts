import { expect, test } from 'vitest';

import { answerFrom, pageOf, startWorld } from './world.testing.ts';

const idOf = (digit: string) => `01900000-0000-7000-8000-00000000000${digit}`;
const agentOf = (digit: string, kind: string, ...path: string[]) => ({
  id: idOf(digit),
  kind,
  path,
  status: 'active',
});
const identities = pageOf(
  agentOf('1', 'user', 'ann'),
  agentOf('2', 'subagent', 'ann', 'bot', 'helper'),
  agentOf('3', 'agent', 'ann', 'bot-2'),
  agentOf('4', 'agent', 'ann', 'bot'),
  agentOf('5', 'agent', 'ben', 'bot'),
);

test('agents are listed as a tree, and people are left out', async () => {
  await using world = await startWorld({
    answerRest: answerFrom({ 'GET /v1/identities': identities }),
  });
  const { code, stdout, stderr } = await world.runHere('agents', 'list');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const paths = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t')[0]);
  expect(paths).toEqual(['ann/bot', 'ann/bot/helper', 'ann/bot-2', 'ben/bot']);
});

test('a list that needs several pages is cut at its limit, and a note says that there is more', async () => {
  await using world = await startWorld({
    answerRest: ({ path, response }) => {
      const { searchParams } = new URL(path, 'http://gateway');
      const start = Number(searchParams.get('cursor') ?? 0);
      const end = Math.min(150, start + Number(searchParams.get('limit')));
      const items = Array.from({ length: end - start }, (_, index) => ({ id: `${start + index}` }));
      const page = { items, next_cursor: end === 150 ? null : String(end) };
      response.end(JSON.stringify(page));
    },
  });
  const cut = await world.runHere('rules', 'list', '--limit', '120', '--json');
  expect(JSON.parse(cut.stdout)).toHaveLength(120);
  expect(await world.runHere('rules', 'list', '--limit', '149')).toMatchObject({
    code: 0,
    stderr: 'There are more: see --limit.\n',
  });
  expect(await world.runHere('rules', 'list', '--limit', '150')).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(await world.runHere('rules', 'list', '--limit', '1001')).toMatchObject({ code: 2 });
});

test('a list that does not end is given up', async () => {
  let cursors = 0;
  const nextCursors = { same: () => 'x', other: () => String(cursors++) };
  for (const nextCursor of Object.values(nextCursors)) {
    await using world = await startWorld({
      answerRest: ({ response }) =>
        void response.end(JSON.stringify({ items: [], next_cursor: nextCursor() })),
    });
    const { code, stderr } = await world.runHere('rules', 'list');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('does not end') });
    expect(world.gateway.calls.length).toBeLessThanOrEqual(100);
  }
});

test('a page with more entries than were asked for is cut', async () => {
  const rules = Array.from({ length: 200_000 }, () => ({ id: '1' }));
  await using world = await startWorld({
    answerRest: answerFrom({ 'GET /v1/rules': { items: rules, next_cursor: null } }),
  });
  const { code, stdout } = await world.runHere('rules', 'list', '--limit', '2', '--json');
  expect({ code, count: JSON.parse(stdout).length }).toEqual({ code: 0, count: 2 });
});

test('an agent is found by its path or by a unique name, and an ambiguous name changes nothing', async () => {
  await using world = await startWorld({
    answerRest: answerFrom({
      'GET /v1/identities': identities,
      [`POST /v1/identities/${idOf('2')}/archive`]: agentOf('2', 'subagent', 'ann'),
      [`POST /v1/identities/${idOf('5')}/restore`]: agentOf('5', 'agent', 'ben'),
    }),
  });
  expect(await world.runHere('agents', 'archive', 'helper')).toMatchObject({
    code: 0,
    stderr: 'The agent helper is archived.\n',
  });
  expect(await world.runHere('agents', 'restore', 'ben/bot')).toMatchObject({ code: 0 });
  const ambiguousName = await world.runHere('agents', 'archive', 'bot');
  expect(ambiguousName).toMatchObject({ code: 2, stdout: '' });
  expect(ambiguousName.stderr).toContain(
    `write ann/bot (id ${idOf('4')}) or ben/bot (id ${idOf('5')}).`,
  );
  const nameOfPerson = await world.runHere('agents', 'archive', 'ann');
  expect(nameOfPerson).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no agent "ann"'),
  });
  const changes = world.gateway.calls.filter(({ method }) => method !== 'GET');
  expect(changes.map(({ path }) => path)).toEqual([
    `/v1/identities/${idOf('2')}/archive`,
    `/v1/identities/${idOf('5')}/restore`,
  ]);
});

test('a command that cannot be undone needs --yes where nobody can be asked', async () => {
  const secret = { id: idOf('6'), name: 'token', tier: 'org', allowed_hosts: [] };
  await using world = await startWorld({
    answerRest: answerFrom({
      'GET /v1/secrets': pageOf(secret),
      [`DELETE /v1/secrets/${idOf('6')}`]: 204,
    }),
  });
  const refused = await world.runHere('secrets', 'delete', 'org/token');
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
  expect(world.gateway.calls.map(({ method }) => method)).toEqual(['GET']);
  // The org's secret is named `org/token`; `token` would be a secret of the person.
  expect(await world.runHere('secrets', 'delete', 'token', '--yes')).toMatchObject({ code: 2 });
  expect(await world.runHere('secrets', 'delete', 'org/token', '--yes')).toMatchObject({ code: 0 });
});

test('the value of a secret is read from stdin, and refused as an argument', async () => {
  const stored = { name: 'token', current_version: 2, allowed_hosts: ['api.example.com'] };
  await using world = await startWorld({ answerRest: answerFrom({ 'POST /v1/secrets': stored }) });
  const args = ['secrets', 'set', 'token', '--host', 'api.example.com'];
  const { code, stdout, stderr } = await world.run(args, {}, 'CANARY-value \n');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe('token has version 2, for api.example.com.');
  expect(JSON.parse(world.gateway.calls[0]?.body ?? '')).toEqual({
    name: 'token',
    value: 'CANARY-value ',
    allowed_hosts: ['api.example.com'],
  });
  const asArgument = await world.runHere('secrets', 'set', 'token', 'CANARY-value');
  expect(asArgument).toMatchObject({ code: 2, stdout: '' });
  expect(asArgument.stderr).not.toContain('CANARY');
  expect(await world.run(args, {}, '\n')).toMatchObject({ code: 2 });
  const wrongBytes = Buffer.from('CANARY-caf\u00E9', 'latin1');
  const refused = await world.run(args, {}, wrongBytes);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('UTF-8') });
  expect(world.gateway.calls).toHaveLength(1);
});

test('an error of the gateway names the options, and with --json the fields of the request', async () => {
  const error = {
    error: 'invalid_params',
    message: 'Check what was pasted, or send as_is: true to store exactly this.',
    request_id: 'r1',
  };
  await using world = await startWorld({
    answerRest: ({ response }) => void response.writeHead(400).end(JSON.stringify(error)),
  });
  const { code, stderr } = await world.run(['secrets', 'set', 'token'], {}, 'CANARY-value');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      'action-gateway: Check what was pasted, or add --as-is to store exactly this.\nError invalid_params, request r1\n',
  });
  const asJson = await world.run(['secrets', 'set', 'token', '--json'], {}, 'CANARY-value');
  expect(JSON.parse(asJson.stderr)).toEqual(error);
});

test('keys add prints nothing but the key on stdout', async () => {
  const path = `/v1/identities/${idOf('4')}/keys`;
  await using world = await startWorld({
    answerRest: answerFrom({
      'GET /v1/identities': identities,
      [`POST ${path}`]: { id: idOf('7'), key: 'aak_CANARYkey' },
      [`DELETE ${path}/${idOf('7')}`]: 204,
    }),
  });
  expect(await world.runHere('keys', 'add', 'ann/bot')).toEqual({
    code: 0,
    stdout: 'aak_CANARYkey\n',
    stderr: 'This key is not shown again.\n',
  });
  expect(await world.runHere('keys', 'revoke', 'ann/bot', idOf('7'))).toMatchObject({ code: 0 });
});

test('a key expires after a duration, and a text that is no time is wrong use', async () => {
  const path = `/v1/identities/${idOf('4')}/keys`;
  await using world = await startWorld({
    answerRest: answerFrom({ [`POST ${path}`]: { id: idOf('7'), key: 'aak_CANARYkey' } }),
  });
  const args = ['keys', 'add', idOf('4'), '--expires'];
  expect(await world.runHere(...args, '24h')).toMatchObject({ code: 0 });
  const { expires_at: expiresAt } = JSON.parse(world.gateway.calls[0]?.body ?? '');
  expect(Math.abs(Date.parse(expiresAt) - Date.now() - 86_400_000)).toBeLessThan(3_600_000);
  for (const wrong of [
    [...args, 'tomorrow'],
    ['rules', 'add', 'allow', 'a:b:*', '--org', '--expires', 'tomorrow'],
    ['audit', 'tail', '--since', 'yesterday'],
    ['approvals', 'allow', idOf('1'), '--remember', '--ttl', 'long'],
    ['call', 'a', 'b', '--wait', 'long'],
  ]) {
    const { code, stderr } = await world.runHere(...wrong);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('24h') });
  }
  expect(world.gateway.calls).toHaveLength(1);
});

test('a rule must be for an agent or for the org, not for neither or both', async () => {
  await using world = await startWorld();
  const args = ['rules', 'add', 'allow', 'github:*'];
  const short = await world.runHere('rules', 'add', 'allow', '*', '--org');
  expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining('three segments') });
  for (const more of [[], ['--agent', 'bot', '--org']]) {
    const { code, stderr } = await world.runHere(...args, ...more);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--org') });
  }
  expect(world.gateway.calls).toEqual([]);
});
