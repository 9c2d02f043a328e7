import { jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connectBus } from '#bus';
import { loadConfig } from '#config';
import type { Environment } from '#config';
import { approvalsConfig } from '../../approvals/config.ts';
import { startApprovals } from '../../approvals/start.ts';
import { auditConfig } from '../../audit/config.ts';
import { startAudit } from '../../audit/start.ts';
import { authConfig } from '../../auth/config.ts';
import { startAuth } from '../../auth/start.ts';
import { executorConfig } from '../../executor/config.ts';
import { startExecutor } from '../../executor/start.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { notifierConfig } from '../../notifier/config.ts';
import { startNotifier } from '../../notifier/start.ts';
import { policyConfig } from '../../policy/config.ts';
import { startPolicy } from '../../policy/start.ts';
import { provisionBus } from '../../provision.ts';
import { registryConfig } from '../../registry/config.ts';
import { startRegistry } from '../../registry/start.ts';
import { smallStreams } from '../support/streams.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';
import type { Reply } from '../support/http.ts';

type Reader = 'audit' | 'notifier';

describe('the streams of a running product', () => {
  const startReader = {
    audit: () => startAudit(loadConfig(auditConfig, world.environment)),
    notifier: () => startNotifier(loadConfig(notifierConfig, world.environment)),
  };
  const readers: Partial<Record<Reader, AsyncDisposable>> = {};
  let world: World;
  let agent: Agent;
  let store: JetStreamManager;
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    world = stack.use(await startWorld({}, startAllBut));
    await restartReader('audit');
    await restartReader('notifier');
    const url = world.environment['PROVISION_NATS_URL'] ?? '';
    store = await jetstreamManager(stack.use(await connectBus({ url, name: 'provision' })).nats);
    agent = await createAgent(world.url, world.admin, 'reader');
    for (const pattern of ['http:GET:**', 'http:POST:**']) {
      const rule = { identity_id: agent.id, effect: 'allow', pattern };
      successfulBodyOf(await world.admin.post('/v1/rules', rule));
    }
  });
  afterAll(async () => {
    await stopReader('audit');
    await stopReader('notifier');
    await stack.disposeAsync();
  });

  async function restartReader(reader: Reader): Promise<void> {
    readers[reader] = await startReader[reader]();
  }
  async function stopReader(reader: Reader): Promise<void> {
    await readers[reader]?.[Symbol.asyncDispose]();
    delete readers[reader];
  }
  const limitStream = (stream: string, bytes: number) =>
    store.streams.update(stream, { max_bytes: bytes });
  const bytesIn = async (stream: string) => (await store.streams.info(stream)).state.bytes;
  const readStatus = async () => successfulBodyOf(await world.admin.get('/v1/status'));
  const countRows = async (table: string, condition: string) => {
    const [row] = await world.tables.query(
      `select count(*)::integer as n from ${table} where ${condition}`,
    );
    return row?.['n'] as number;
  };
  const countAnnounced = () => countRows('notifier.feed_item', `type = 'identity.created'`);
  const countRecorded = () => countRows('audit.record', `type = 'action.outcome'`);
  const call = (method: string) =>
    agent.post('/v1/actions/call', { service: 'http', method, url: world.upstream.url });
  const sendRead = () => call('GET');
  const sendWrite = () => call('POST');
  /** Makes reads, ten at a time, and returns how many were answered with 200. */
  const sendReads = async (readCount: number): Promise<number> => {
    let answeredCount = 0;
    for (let done = 0; done < readCount; done += 10) {
      const replies = await Promise.all(Array.from({ length: 10 }, sendRead));
      answeredCount += replies.filter((reply) => reply.status === 200).length;
    }
    return answeredCount;
  };
  /** Tells whether the request waited for too long on a busy machine, which is no refusal. */
  const hasTimedOut = ({ body }: Reply) => String(body.message).includes('did not answer');
  let answeredCount = 0;

  test('AUDIT takes more than ten times its size while the audit log reads from it', async () => {
    const size = 32 * 1024;
    await limitStream('AUDIT', size);
    // Each record is more than 1,000 bytes.
    while (answeredCount * 1_000 < 11 * size) {
      answeredCount += await sendReads(10);
      await pollUntil(async () => (await bytesIn('AUDIT')) < size / 2, 'AUDIT is read');
    }
    await pollUntil(async () => (await countRecorded()) >= answeredCount, 'every read is recorded');
  });

  test('without the audit log, the status warns, calls are refused once AUDIT is full, and calls work again when the audit log is back', async () => {
    const size = 128 * 1024;
    await limitStream('AUDIT', size);
    await stopReader('audit');
    while ((await bytesIn('AUDIT')) < size * 0.82) answeredCount += await sendReads(10);
    await pollUntil(
      async () => (await readStatus()).streams.AUDIT.status === 'degraded',
      'the alarm',
    );
    const { status: overallStatus, streams, consumers } = await readStatus();
    expect(overallStatus).toBe('degraded');
    expect(streams.AUDIT.fill_percent).toBeGreaterThanOrEqual(80);
    expect(consumers.audit.waiting).toBeGreaterThan(0);

    let refusal = await sendRead();
    while (refusal.status === 200) {
      answeredCount += 1;
      refusal = await sendRead();
    }
    expect(refusal).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    let writtenCount = 0;
    const tryWrite = async () => {
      const { status, body } = await sendWrite();
      if (status === 200) writtenCount += 1;
      return { isTaken: status === 200, message: String(body.message) };
    };
    const isRefused = async () => (await tryWrite()).message.includes('The stream AUDIT');
    await pollUntil(isRefused, 'writes are refused');
    const countWaiting = () => countRows('executor.outbox', 'recorded_at is null');
    const keptCount = await countWaiting();
    for (let attemptIndex = 0; attemptIndex < 20; attemptIndex += 1)
      expect(await isRefused()).toBe(true);
    expect(await countWaiting()).toBeLessThanOrEqual(keptCount);
    expect(world.upstream.hits.filter(({ method }) => method === 'POST')).toHaveLength(
      writtenCount,
    );

    await restartReader('audit');
    await pollUntil(async () => (await tryWrite()).isTaken, 'writes are taken again');
    answeredCount += writtenCount;
    await pollUntil(async () => {
      const isTaken = (await sendRead()).status === 200;
      if (isTaken) answeredCount += 1;
      return isTaken;
    }, 'calls are taken again');
    await pollUntil(async () => (await countRecorded()) >= answeredCount, 'everything is recorded');
    expect(successfulBodyOf(await world.admin.get('/v1/audit/verify'))).toMatchObject({
      valid: true,
    });
    await pollUntil(
      async () => (await readStatus()).streams.AUDIT.status === 'ok',
      'the alarm ends',
    );
  });

  test(
    'without the notifier for a week, a full EVENTS refuses nothing, the status reports the waiting events, and no event is lost',
    { timeout: 240_000 },
    async () => {
      await limitStream('EVENTS', 10 * 1024);
      await stopReader('notifier');
      const announcedBefore = await countAnnounced();
      let createdCount = 0;
      while (createdCount < 25) {
        const reply = await world.admin.post('/v1/identities/agents', {
          name: `agent${createdCount}`,
        });
        if (reply.status === 201) createdCount += 1;
        // A full EVENTS must refuse no change. Only a timeout is allowed, because the machine may
        // be busy.
        else expect(hasTimedOut(reply), JSON.stringify(reply.body)).toBe(true);
      }
      await pollUntil(async () => {
        const { streams, components } = await readStatus();
        return streams.EVENTS.status === 'degraded' && components.auth.outbox.waiting > 0;
      }, 'the status says what waits');
      let reply = await sendRead();
      while (hasTimedOut(reply)) reply = await sendRead();
      expect(reply).toMatchObject({ status: 200 });

      await world.tables.query(
        `update auth.outbox set created_at = created_at - interval '8 days',
                              recorded_at = recorded_at - interval '8 days',
                              published_at = published_at - interval '8 days'`,
      );
      // Once a minute, the relay deletes published events that are older than seven days from the
      // outbox.
      await pollUntil(
        async () => (await countRows('auth.outbox', 'published_at is not null')) === 0,
        'the outbox keeps nothing that is older than seven days and published',
      );
      expect(await countRows('auth.outbox', 'published_at is null')).toBeGreaterThan(0);

      await restartReader('notifier');
      await pollUntil(
        async () => (await countAnnounced()) >= announcedBefore + createdCount,
        'every event is in the feed',
      );
      await pollUntil(
        async () => (await readStatus()).components.auth.outbox.waiting === 0,
        'none waits',
      );
    },
  );

  test('after the streams were lost and the migration created them again, everything is delivered again and takes effect once', async () => {
    await pollUntil(
      async () => (await bytesIn('AUDIT')) + (await bytesIn('EVENTS')) === 0,
      'the streams are read',
    );
    const announcedBefore = await countAnnounced();
    await stopReader('notifier');
    await createAgent(world.url, world.admin, 'unread');
    await pollUntil(
      async () => (await countRows('auth.outbox', 'published_at is null')) === 0,
      'the event is in the stream that gets lost',
    );
    await store.streams.delete('AUDIT');
    await store.streams.delete('EVENTS');
    await provisionBus({
      natsUrl: world.environment['PROVISION_NATS_URL'] ?? '',
      ...smallStreams,
    });
    await restartReader('notifier');
    await pollUntil(
      async () =>
        (await countRows('auth.relayed_stream', 'repeat_until is not null')) === 0 &&
        (await countAnnounced()) === announcedBefore + 1,
      'the unread event comes again',
    );
    await pollUntil(async () => (await bytesIn('AUDIT')) === 0, 'the records are read again');
    expect(successfulBodyOf(await world.admin.get('/v1/audit/verify'))).toMatchObject({
      valid: true,
    });
    const repeatedRows = await world.tables.query(
      'select id from audit.record group by id having count(*) > 1',
    );
    expect(repeatedRows).toEqual([]);
  });
});

/** Starts every component except audit and the notifier, which the tests start and stop. */
async function startAllBut(environment: Environment) {
  await using startup = new AsyncDisposableStack();
  const auth = startup.use(await startAuth(loadConfig(authConfig, environment)));
  const environmentWithOauth = { ...environment, OAUTH_URL: auth.oauthUrl };
  startup.use(await startRegistry(loadConfig(registryConfig, environmentWithOauth)));
  startup.use(await startExecutor(loadConfig(executorConfig, environmentWithOauth)));
  startup.use(await startPolicy(loadConfig(policyConfig, environmentWithOauth)));
  startup.use(await startApprovals(loadConfig(approvalsConfig, environmentWithOauth)));
  const { url } = startup.use(await startGateway(loadConfig(gatewayConfig, environmentWithOauth)));
  const running = startup.move();
  return {
    url,
    firstSignInUrl: auth.firstSignInUrl,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
