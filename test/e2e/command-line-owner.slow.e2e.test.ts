import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { makeFolder, runToEnd, startProgram } from '../../cli/program.testing.ts';
import { jsonOf, startCommandLine } from '../support/command-line.ts';
import type { CommandLine } from '../support/command-line.ts';
import { needs } from '../support/needs.ts';
import { templateDocument } from '../support/template.ts';
import { pollUntil } from '../support/world.ts';

const terminal = needs('a terminal');

let line: CommandLine;
beforeAll(async () => {
  line = await startCommandLine();
});
afterAll(() => line[Symbol.asyncDispose]());

const runAsPerson = (...args: string[]) => line.runAsPerson(...args);
const json = (...args: string[]) => jsonOf(runAsPerson(...args, '--json'));

describe('agents and keys', () => {
  test('an agent, its subagent and its key are created, archived, restored and revoked', async () => {
    const agent = await json('agents', 'add', 'writer');
    expect(agent).toMatchObject({ kind: 'agent', path: ['admin', 'writer'] });
    const helper = await json('agents', 'add', 'helper', '--parent', 'writer');
    expect(helper).toMatchObject({ kind: 'subagent', parent_id: agent.id });
    const { stdout } = await runAsPerson('agents', 'list');
    const paths = stdout.split('\n').map((row) => row.split('\t')[0]);
    expect(paths).toEqual(['admin/bot', 'admin/writer', 'admin/writer/helper']);

    const key = (await runAsPerson('keys', 'add', 'writer', '--name', 'ci')).stdout;
    const asWriter = {
      XDG_CONFIG_HOME: line.configFolder,
      ACTION_GATEWAY_KEY: key,
      ACTION_GATEWAY_URL: line.world.url,
    };
    expect(await runToEnd(['whoami'], asWriter)).toMatchObject({ code: 0 });
    const [{ id: keyId, name }] = await json('keys', 'list', 'writer');
    expect(name).toBe('ci');

    expect(await json('agents', 'archive', 'writer')).toMatchObject({ status: 'archived' });
    expect(await runAsPerson('agents', 'show', 'writer')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/status: +archived/),
    });
    expect(await json('agents', 'restore', 'writer')).toMatchObject({ status: 'active' });
    expect(await runAsPerson('keys', 'revoke', 'writer', keyId)).toMatchObject({ code: 0 });
    expect(await json('keys', 'list', 'writer')).toEqual([]);
    await expect.poll(async () => (await runToEnd(['whoami'], asWriter)).code).toBe(3);
    expect(await runAsPerson('agents', 'revoke', 'writer')).toMatchObject({ code: 2 });
    const revoked = await json('agents', 'revoke', 'writer', '--yes');
    expect(revoked).toMatchObject({ status: 'revoked' });
  });

  test('an agent may not create an agent', async () => {
    expect(await line.runAsAgent('agents', 'add', 'other')).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('secrets', () => {
  test('a value from stdin is stored, listed without its value, and deleted', async () => {
    const args = ['secrets', 'set', 'notes_token', '--host', line.world.upstream.host, '--json'];
    const set = await runToEnd(args, line.personSettings, 'CANARY-by-stdin\n');
    expect(set.code, set.stderr).toBe(0);
    const { stdout } = await runAsPerson('secrets', 'list');
    expect(stdout).toContain(`notes_token\t1\t${line.world.upstream.host}`);
    expect(stdout + set.stdout).not.toContain('CANARY');
    const call = ['http', 'GET', `${line.world.upstream.url}/notes`];
    await runAsPerson(...call, '--secret', 'notes_token=header:X-Token');
    expect(line.world.upstream.hits.at(-1)?.headers['x-token']).toBe('CANARY-by-stdin');
    expect(await runAsPerson('secrets', 'delete', 'notes_token', '--yes')).toMatchObject({
      code: 0,
    });
    expect(await json('secrets', 'list')).toEqual([]);
  });

  test.runIf(terminal.isAvailable)(
    `a value that is typed does not appear on the terminal${terminal.note}`,
    async () => {
      const set = line.startAtTerminal('secrets set typed_token');
      await set.untilShown('Value of typed_token:');
      set.type('CANARY-typedx\u007F\r');
      expect(await set.exited, set.screen()).toBe(0);
      expect(set.screen()).toContain('typed_token has version 1');
      expect(set.screen()).not.toContain('CANARY');

      const stopped = line.startAtTerminal('secrets set stopped_token');
      await stopped.untilShown('Value of stopped_token:');
      stopped.type('CANARY-stopped\u0003');
      expect(await stopped.exited, stopped.screen()).toBe(1);
      expect(stopped.screen()).toContain('Nothing was stored');

      const pasted = line.startAtTerminal('secrets set pasted_token');
      await pasted.untilShown('Value of pasted_token:');
      pasted.type('CANARY-one\rCANARY-two\r');
      expect(await pasted.exited, pasted.screen()).toBe(2);
      const names = (await json('secrets', 'list')).map(({ name }: { name: string }) => name);
      expect(names).toEqual(['typed_token']);

      const messages = join(line.configFolder, 'messages');
      const redirected = line.startAtTerminal(`secrets set typed_token 2>${messages}`);
      const prompted = async () => (await readFile(messages, 'utf8')).includes('Value of');
      await pollUntil(() => prompted().catch(() => false), 'the prompt in the file');
      redirected.type('CANARY-redirected\r');
      expect(await redirected.exited, redirected.screen()).toBe(0);
      expect(redirected.screen()).toContain('typed_token has version 2');
      expect(redirected.screen()).not.toContain('CANARY');

      const kept = line.startAtTerminal('secrets delete typed_token');
      await kept.untilShown('Type "yes"');
      kept.type('\u0003');
      expect(await kept.exited, kept.screen()).toBe(1);
      expect(kept.screen()).toMatch(/\naction-gateway: Nothing was done\.\n/);

      const deleted = line.startAtTerminal('secrets delete typed_token');
      await deleted.untilShown('Type "yes"');
      deleted.type('yes\r');
      expect(await deleted.exited, deleted.screen()).toBe(0);
    },
  );
});

describe('rules', () => {
  test('a rule is added, changes the explained outcome of a call, and is deleted', async () => {
    const url = `${line.world.upstream.url}/notes`;
    const explain = ['rules', 'explain', 'http', 'POST', url, '--agent', 'bot'];
    const { why, outcome } = await json(...explain);
    expect(outcome).toBe('would_require_approval');
    const key = why[0].key as string;
    const rule = await json('rules', 'add', 'allow', key, '--agent', 'bot');
    expect(await json('rules', 'list', '--agent', 'bot')).toMatchObject([{ id: rule.id }]);
    await expect.poll(async () => (await json(...explain)).outcome).toBe('allowed');
    const shown = await runAsPerson(...explain);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining(rule.id) });
    expect(await runAsPerson('rules', 'delete', rule.id)).toMatchObject({ code: 0 });
    expect(await runAsPerson('rules', 'delete', rule.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not_found'),
    });
    expect(await json('rules', 'list', '--agent', 'bot')).toEqual([]);
  });
});

describe('templates and services', () => {
  test('a template is checked, saved, published, connected, shown and disconnected', async () => {
    await using folder = await makeFolder();
    const file = join(folder.path, 'notes.yaml');
    await writeFile(file, templateDocument('notes', `https://${line.world.upstream.host}`));
    expect(await json('templates', 'validate', file)).toMatchObject({ valid: true });
    expect(await json('templates', 'save', file)).toMatchObject({
      key: 'notes',
      latest_version: 1,
    });
    const changed = await readFile(file, 'utf8');
    await writeFile(file, changed.replace('List notes', 'List all notes'));
    const again = await json('templates', 'save', file, '--key', 'notes');
    expect(again).toMatchObject({ latest_version: 2 });
    expect(await json('templates', 'publish', 'notes')).toMatchObject({ published_version: 2 });
    const listed = await runAsPerson('templates', 'list', '--tier', 'user');
    expect(listed.stdout).toMatch(/^notes\tuser\tpublished\t2\t/);

    const refused = await runAsPerson('services', 'connect', 'notes');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Store the secret "notes_token" first'),
    });
    const stored = await runToEnd(
      ['secrets', 'set', 'notes_token'],
      line.personSettings,
      'CANARY-notes\n',
    );
    expect(stored.code, stored.stderr).toBe(0);
    const secret = ['--secret', 'token=notes_token'];
    const connected = await runAsPerson('services', 'connect', 'notes', ...secret);
    expect(connected.code, connected.stderr).toBe(0);
    expect(connected.stdout).toMatch(/status: +ready/);
    const { host } = line.world.upstream;
    expect(connected.stderr).toBe(`notes_token may now also go to ${host}.\n`);
    const shown = await runAsPerson('services', 'show', 'notes');
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/status: +ready/) });
    expect((await json('services', 'list'))[0]).toMatchObject({ name: 'notes', status: 'ready' });
    expect(await runAsPerson('services', 'disconnect', 'notes')).toMatchObject({ code: 0 });
    expect(await json('services', 'list')).toEqual([]);
  });

  test('an OpenAPI document is imported, and a terminal shows the progress', async () => {
    await using folder = await makeFolder();
    const file = join(folder.path, 'pets.json');
    const paths = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `/pets/${index}`,
        { get: { responses: { 200: { description: 'ok' } } } },
      ]),
    );
    const info = { title: 'Pets', version: '1' };
    const servers = [{ url: 'https://pets.example.com' }];
    await writeFile(file, JSON.stringify({ openapi: '3.0.3', info, servers, paths }));
    const imported = await json('templates', 'import', file, '--key', 'pets');
    expect(imported).toMatchObject({ template: { key: 'pets' }, operations_count: 20 });
    if (!terminal.isAvailable) return;
    const shown = line.startAtTerminal(`templates import ${file} --key pets`);
    expect(await shown.exited, shown.screen()).toBe(0);
    expect(shown.screen()).toContain('Uploading 0 %');
    expect(shown.screen()).toContain('with 20 of 20 operations');
  });
});

describe('the org', () => {
  test('a user is invited, gets another role and a new link, and is archived and restored', async () => {
    const invited = await runAsPerson('users', 'invite', 'ben@acme.example', '--name', 'ben');
    expect(invited).toMatchObject({ code: 0, stdout: expect.stringContaining(line.world.url) });
    expect(await json('users', 'change', 'ben@acme.example', '--role', 'auditor')).toMatchObject({
      role: 'auditor',
    });
    expect(await json('users', 'sign-in-link', 'ben')).toHaveProperty('url');
    expect(await json('users', 'archive', 'ben')).toMatchObject({ status: 'archived' });
    expect(await json('users', 'restore', 'ben')).toMatchObject({ status: 'active' });
    const { stdout } = await runAsPerson('users', 'list');
    expect(stdout).toContain('ben\tben@acme.example\tauditor\tactive');
    expect(await json('users', 'show', 'ben')).toMatchObject({ kind: 'user' });
    expect(await line.runAsAgent('users', 'list')).toMatchObject({ code: 4, stdout: '' });
  });

  test('a webhook is added, asked to verify itself, and deleted', async () => {
    const url = `${line.world.upstream.url}/hook`;
    const { id, secret } = await json('webhooks', 'add', url, '--event', 'approval.*');
    expect(secret).toMatch(/^whsec_/);
    const { stdout } = await runAsPerson('webhooks', 'list');
    expect(stdout).toContain(`${id}\tpending_verification\tapproval.*\t${url}`);
    expect(await json('webhooks', 'verify', id)).toMatchObject({ id });
    expect(await json('webhooks', 'show', id)).not.toHaveProperty('secret');
    expect(await runAsPerson('webhooks', 'delete', id)).toMatchObject({ code: 0 });
    expect(await json('webhooks', 'list')).toEqual([]);
  });

  test('the audit log is read, followed and checked', async () => {
    const url = `${line.world.upstream.url}/followed`;
    await using follow = startProgram(
      ['audit', 'tail', '--follow', '--type', 'action.outcome', '--limit', '1'],
      line.personSettings,
    );
    await runAsPerson('http', 'POST', url, '--data', '{}');
    let row = await follow.nextLine();
    while (row?.includes('/followed') === false) row = await follow.nextLine();
    expect(row).toContain('called');
    const records = await json('audit', 'tail', '--type', 'action.outcome', '--limit', '2');
    expect(records.at(-1).description).toContain('/followed');
    expect(await json('audit', 'verify')).toMatchObject({ valid: true, first_bad_seq: null });
    expect(await line.runAsAgent('audit', 'tail')).toMatchObject({ code: 4 });
  });
});

describe('doctor', () => {
  test('reports no problem with a login, and says how to sign in without a login', async () => {
    const { ok, checks } = await json('doctor');
    expect(ok, JSON.stringify(checks)).toBe(true);
    expect(checks.map(({ check }: { check: string }) => check)).toEqual([
      'program',
      'gateway',
      'clock',
      'readiness',
      'login',
      'components',
    ]);
    const withoutLogin = await runAsPerson('doctor', '--profile', 'none', '--url', line.world.url);
    expect(withoutLogin).toMatchObject({ code: 3, stdout: expect.stringMatching(/gateway: +ok/) });
    expect(withoutLogin.stdout).toContain('action-gateway login');
  });
});

test('the command start runs a gateway, and both end when the command is told to stop', async () => {
  await using folder = await makeFolder();
  const { HOME } = process.env;
  const started = startProgram(['start'], { HOME, DATA_DIR: folder.path, PORT: '0' });
  let row = await started.nextLine();
  while (row?.startsWith('Agent Action Gateway: ') === false) row = await started.nextLine();
  const url = row?.split(' ').at(-1) ?? '';
  expect(await fetch(`${url}/health/live`), started.stderr()).toMatchObject({ status: 200 });
  started.child.kill('SIGTERM');
  expect(await started.exitCode, started.stderr()).toBe(0);
  await expect(fetch(`${url}/health/live`)).rejects.toThrow();
});
