import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { runToEnd, startProgram } from '../../cli/program.testing.ts';
import { jsonOf, startCommandLine } from '../support/command-line.ts';
import type { CommandLine } from '../support/command-line.ts';
import { needs } from '../support/needs.ts';
import { createAgent, pollUntil, successfulBodyOf } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const terminal = needs('a terminal');

let line: CommandLine;
let world: World;
let bot: Agent;

beforeAll(async () => {
  line = await startCommandLine();
  ({ world, bot } = line);
});
afterAll(() => line[Symbol.asyncDispose]());

const runAsPerson = (...args: string[]) => line.runAsPerson(...args);
const runAsAgent = (...args: string[]) => line.runAsAgent(...args);

/** Suspends a call of the agent, and returns the id of its approval. */
async function suspendCall(method = 'POST', path = '/notes'): Promise<string> {
  const url = `${world.upstream.url}${path}`;
  const call = { service: 'http', method, url, ...(method === 'POST' && { body: {} }) };
  return successfulBodyOf(await bot.post('/v1/actions/call', call)).approval_id;
}

describe('the identity of the caller', () => {
  test('a login acts as the person, and an agent key as the agent', async () => {
    expect(await jsonOf(runAsPerson('whoami', '--json'))).toMatchObject({
      gateway: world.url,
      id: world.admin.id,
      scopes: ['user'],
    });
    expect(await jsonOf(runAsAgent('whoami', '--json'))).toMatchObject({ id: bot.id });
    const file = join(line.configFolder, 'action-gateway/profiles/default.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('an expired access token is refreshed', async () => {
    await world.tables.query(
      `update auth.oauth_token set expires_at = now() where kind = 'access'`,
    );
    await pollUntil(async () => {
      const { code } = await runAsPerson('whoami');
      return code === 0;
    }, 'a refreshed login');
    const used = await world.tables.query(
      `select from auth.oauth_token where kind = 'refresh' and consumed_at is not null`,
    );
    expect(used.length).toBeGreaterThan(0);
  });

  test('a command with a revoked agent key exits with 3', async () => {
    const other = await createAgent(world.url, world.admin, 'other');
    successfulBodyOf(await world.admin.post(`/v1/identities/${other.id}/revoke`));
    const environment = { ...line.agentSettings, ACTION_GATEWAY_KEY: other.key };
    await expect.poll(async () => (await runToEnd(['whoami'], environment)).code).toBe(3);
  });
});

describe('calls', () => {
  test('a person calls a URL: stdout contains only the body, and the request is sent as given', async () => {
    const url = `${world.upstream.url}/echo?a=1`;
    const args = ['--header', 'X-Note: yes', '--data', '{"id": 12345678901234567890}'];
    const { code, stdout, stderr } = await runAsPerson('http', 'POST', url, ...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('200 ') });
    expect(JSON.parse(stdout)).toMatchObject({
      method: 'POST',
      body: '{"id": 12345678901234567890}',
      headers: { 'x-note': 'yes', 'content-type': 'application/json' },
    });
  });

  test('a secret is sent in the header that the command names, and is never printed', async () => {
    const value = 'CANARY-notes-token-of-the-command-line';
    successfulBodyOf(
      await world.admin.post('/v1/secrets', {
        name: 'notes_token',
        value,
        allowed_hosts: [world.upstream.host],
      }),
    );
    const secret = 'notes_token=header:X-Token:Key ';
    const url = `${world.upstream.url}/notes`;
    const { code, stdout, stderr } = await runAsPerson('http', 'GET', url, '--secret', secret);
    expect(code, stderr).toBe(0);
    expect(world.upstream.hits.at(-1)?.headers['x-token']).toBe(`Key ${value}`);
    expect(stdout + stderr).not.toContain(value);
  });

  test('a call of an agent that needs approval exits with 5; with --wait it ends when a person allows it', async () => {
    const url = `${world.upstream.url}/notes`;
    const waiting = await runAsAgent('http', 'POST', url, '--data', '{}');
    expect(waiting).toMatchObject({ code: 5, stdout: '' });
    const id = /approvals show (\S+)/.exec(waiting.stderr)?.[1] ?? '';
    expect((await runAsPerson('approvals', 'deny', id, '--reason', 'too soon')).code).toBe(0);

    const args = ['http', 'POST', url, '--data', '{"b":1}', '--wait', '5m'];
    const call = startProgram(args, line.agentSettings);
    await pollUntil(() => call.stderr().includes('decides at'), 'the pending call');
    const openApprovals = await jsonOf(runAsPerson('approvals', 'list', '--json'));
    expect(openApprovals).toHaveLength(1);
    expect((await runAsPerson('approvals', 'allow', openApprovals[0].id)).code).toBe(0);
    expect(await call.exitCode, call.stderr()).toBe(0);
    expect(await call.nextLine()).toBe('{');
    expect(await call.nextLine()).toBe('  "ok": true');
    const { stdout } = await runAsAgent('approvals', 'show', openApprovals[0].id);
    expect(stdout).toMatch(/execution: +executed 201\n+\{\n {2}"ok": true/);
  });

  test('what a pending call says about waiting leads to its result, also if it joined an open approval that has run', async () => {
    const url = `${world.upstream.url}/joined`;
    const calls = [];
    for (let count = 0; count < 2; count += 1) {
      calls.push(await runAsAgent('http', 'POST', url, '--data', '{}'));
    }
    const ids = calls.map(({ stderr }) => /approvals wait (\S+)/.exec(stderr)?.[1] ?? '');
    expect(ids[0]).toBe(ids[1]);
    const waiting = startProgram(['approvals', 'wait', ids[0] ?? ''], line.agentSettings);
    await pollUntil(() => waiting.stderr().includes('decides at'), 'the waiting command');
    expect((await runAsPerson('approvals', 'allow', ids[0] ?? '')).code).toBe(0);
    expect(await waiting.exitCode, waiting.stderr()).toBe(0);
    expect(await runAsAgent('approvals', 'wait', ids[1] ?? '')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"ok": true'),
    });
    expect((await runAsPerson('approvals', 'wait', ids[0] ?? '')).code).toBe(0);
    expect(world.upstream.hits.filter((hit) => hit.url.includes('/joined'))).toHaveLength(1);
    expect(await jsonOf(runAsPerson('approvals', 'list', '--json'))).toEqual([]);
  });

  test('a denied call exits with 4 and prints the reason', async () => {
    const url = `${world.upstream.url}/denied`;
    const call = startProgram(['http', 'POST', url, '--data', '{}', '--wait'], line.agentSettings);
    await pollUntil(
      () => call.stderr().includes('decides at') || call.child.exitCode !== null,
      'the pending call',
    );
    expect(call.child.exitCode, call.stderr()).toBe(null);
    const [approval] = await jsonOf(runAsPerson('approvals', 'list', '--json'));
    await runAsPerson('approvals', 'deny', approval.id, '--reason', 'not today');
    expect(await call.exitCode).toBe(4);
    expect(call.stderr()).toContain('not today');
  });

  test('a call exits with 1 when the service answers with a failure, and prints the body of the answer', async () => {
    world.upstream.knownTokens = [];
    const { code, stdout, stderr } = await runAsPerson('http', 'GET', `${world.upstream.url}/x`);
    world.upstream.knownTokens = null;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ ok: true });
    expect(stderr).toContain('Failed');
  });

  test('an error of the gateway says what to do next, and contains the id of the request', async () => {
    const { code, stdout, stderr } = await runAsPerson('call', 'githib', 'create_issue');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/Next: action-gateway search githib --catalog/);
    expect(stderr).toMatch(/Error unknown_service, request \S+/);
    const asJson = await runAsPerson('call', 'githib', 'create_issue', '--json');
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: 'unknown_service' });
  });

  test('search finds an action of the catalogue', async () => {
    const found = await runAsPerson('search', 'create', 'issue', '--catalog');
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('create_issue') });
  });
});

describe('approvals', () => {
  test('an approval is shown with the request that it would send', async () => {
    const id = await suspendCall('POST', '/shown');
    const { code, stdout } = await runAsPerson('approvals', 'show', id);
    expect(code).toBe(0);
    expect(stdout).toContain(`POST ${world.upstream.url}/shown`);
    expect(stdout).toContain('can be remembered');
    await runAsPerson('approvals', 'deny', id);
  });

  test('an approval that is remembered creates a rule', async () => {
    const id = await suspendCall('POST', '/remembered');
    const args = ['approvals', 'allow', id, '--remember', '--ttl', '1h', '--json'];
    expect(await jsonOf(runAsPerson(...args))).toMatchObject({ resolution: 'allow_remember' });
    const url = `${world.upstream.url}/remembered`;
    const call = () => runAsAgent('http', 'POST', url, '--data', '{}');
    await expect.poll(async () => (await call()).code).toBe(0);
  });

  test('a call of high risk is allowed only with --yes', async () => {
    const id = await suspendCall('DELETE', '/all');
    const refused = await runAsPerson('approvals', 'allow', id);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('high risk') });
    const [openApproval] = await jsonOf(
      runAsPerson('approvals', 'list', '--risk', 'high', '--json'),
    );
    expect(openApproval).toMatchObject({ id, status: 'pending' });
    expect(await runAsPerson('approvals', 'allow', id, '--yes')).toMatchObject({ code: 0 });
  });

  test('an agent may not decide on its own call', async () => {
    const id = await suspendCall('POST', '/own');
    const { code, stderr } = await runAsAgent('approvals', 'allow', id);
    expect(code).toBe(4);
    expect(stderr).toContain('self_approval_disabled');
    await runAsPerson('approvals', 'deny', id);
  });

  test('watch prints the open approvals, and then each approval that is raised or resolved', async () => {
    const first = await suspendCall('POST', '/first');
    await using watch = startProgram(['approvals', 'watch'], line.personSettings);
    expect(await watch.nextLine()).toContain(`raised  ${first}`);
    const second = await suspendCall('POST', '/second');
    expect(await watch.nextLine()).toContain(`raised  ${second}`);
    await runAsPerson('approvals', 'deny', first);
    expect(await watch.nextLine()).toMatch(`resolved  ${first}`);
    await runAsPerson('approvals', 'deny', second);
  });
});

describe.runIf(terminal.isAvailable)(`the command line at a terminal${terminal.note}`, () => {
  test('shows a list as a table with a dim header, and without colours if NO_COLOR is set', async () => {
    const id = await suspendCall('POST', '/table');
    const list = line.startAtTerminal('approvals list');
    expect(await list.exited).toBe(0);
    expect(list.screen()).toContain('\u001B[2mID ');
    const rows = stripVTControlCharacters(list.screen()).trim().split('\n');
    expect(rows[0]).toMatch(/^ID +STATUS +RISK +ASKED BY +WHAT$/);
    expect(rows[1]).toMatch(new RegExp(`^${id}  pending  med +admin/bot +`));
    const plain = line.startAtTerminal('approvals list', { NO_COLOR: '1' });
    await plain.exited;
    expect(plain.screen()).not.toContain('\u001B');
    await runAsPerson('approvals', 'deny', id);
  });

  test('shows a call of high risk, and allows it only if "yes" is typed', async () => {
    const id = await suspendCall('DELETE', '/typed');
    for (const [typed, code] of [
      ['y', 1],
      ['yes', 0],
    ] as const) {
      const allow = line.startAtTerminal(`approvals allow ${id}`);
      await allow.untilShown('Type "yes"');
      expect(allow.screen()).toContain(`${world.upstream.url}/typed`);
      allow.type(`${typed}\r`);
      expect(await allow.exited, allow.screen()).toBe(code);
    }
  });
});
