import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { launch } from '../../launch.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { sendRaw } from '../support/raw.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';

import { createAgent, pollUntil, successfulBodyOf } from '../support/world.ts';
import type { Agent } from '../support/world.ts';

describe('the sample service of npm start', () => {
  let dataDir: string;
  const start = async (environment: Record<string, string> = {}) =>
    launch(
      { LOG_LEVEL: 'silent', PORT: String(await lastingPort()), ...environment },
      { dataDir, durable: false },
    );
  let running: Awaited<ReturnType<typeof launch>>;
  let admin: Caller;
  let bot: Agent;
  const key = 'nb_CANARY-sample-key-0001';

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'aag-sample-'));
    running = await start();
    admin = await signIn(running.firstSignInUrl ?? '');
    bot = await createAgent(running.url, admin, 'bot');
    return async () => {
      await running[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    };
  });

  const call = (caller: Pick<Caller, 'post'>, action: string, params: object) =>
    caller.post('/v1/actions/call', { service: 'sample', action, params });

  test('is connected with a key; reads run at once, and a write runs when a person allows it', async () => {
    successfulBodyOf(await admin.post('/v1/secrets', { name: 'sample_key', value: key }));
    successfulBodyOf(await admin.post('/v1/services', { template: 'sample' }));

    const pendingCall = await call(bot, 'pin_note', { board: 'kitchen', text: 'Milk is out' });
    expect(pendingCall.body.status).toBe('pending_approval');
    const empty = successfulBodyOf(await call(bot, 'list_notes', {}));
    expect(empty.result.body).toEqual({ notes: [] });

    const { approval_id: id } = pendingCall.body;
    expect((await admin.get(`/v1/approvals/${id}`)).body.risk).toBe('med');
    successfulBodyOf(await admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'allow' }));
    await pollUntil(async () => {
      const { result } = successfulBodyOf(await call(bot, 'list_notes', { board: 'kitchen' }));
      return result.body.notes.length === 1;
    }, 'the note');
  });

  test('has one action of high risk, and one action that answers with a file', async () => {
    const { approval_id: id } = (await call(bot, 'remove_note', { id: 1 })).body;
    expect((await admin.get(`/v1/approvals/${id}`)).body.risk).toBe('high');
    const { result } = successfulBodyOf(await call(bot, 'export_board', { board: 'kitchen' }));
    expect(JSON.stringify(result)).toContain('kitchen.csv');
  });

  test('shows the notes of one key only to this key, and refuses a request without a valid key', async () => {
    const { items } = (await admin.get('/v1/services')).body;
    const { base_url: url } = items.find(({ name }: { name: string }) => name === 'sample');
    const notesOf = (authorization?: string) =>
      fetch(`${url}/notes`, authorization === undefined ? {} : { headers: { authorization } });

    expect((await notesOf()).status).toBe(401);
    const rebound = {
      path: '/notes',
      headers: { host: 'rebound.example', authorization: `Bearer ${key}` },
    };
    expect((await sendRaw(url, { method: 'GET', ...rebound })).status).toBe(421);
    expect((await notesOf('Bearer CANARY-of-another-form')).status).toBe(401);
    expect(await (await notesOf('Bearer nb_CANARY-sample-key-0002')).json()).toEqual({ notes: [] });
    expect(await (await notesOf(`Bearer ${key}`)).json()).toMatchObject({ notes: [{ id: 1 }] });
  });

  test('has the same address after a restart, and is absent if it is switched off or if other machines can reach the gateway', async () => {
    const templateStatus = async () => (await admin.get('/v1/templates/sample')).status;
    const addressOf = async () => (await admin.get('/v1/templates/sample')).body.hosts;
    const { url } = running;
    const hosts = await addressOf();
    const { port } = new URL(url);
    const restart = async (environment: Record<string, string>) => {
      await running[Symbol.asyncDispose]();
      running = await start({ PORT: port, ...environment });
    };

    await restart({});
    expect(await addressOf()).toEqual(hosts);
    await restart({ SAMPLE_SERVICE: 'off' });
    expect(await templateStatus()).toBe(404);
    await restart({ HOST: '0.0.0.0', BASE_URL: url });
    expect(await templateStatus()).toBe(404);
  });
});
