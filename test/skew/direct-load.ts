import { setTimeout as sleep } from 'node:timers/promises';

import type { Tables } from '../support/database.ts';
import type { Caller } from '../support/http.ts';
import { createAgent, successfulBodyOf } from '../support/world.ts';
import { createCaller, createCallerWithKey } from '../support/http.ts';
import type { Reply } from '../support/http.ts';
import type { Upstream } from '../support/upstream.ts';

/** Calls that need no person's decision, and requests for lists that the dashboard shows. */
export interface DirectLoad {
  readonly failures: readonly Failure[];
  readonly calls: readonly DirectCall[];
  stop(): Promise<void>;
}

interface Failure {
  readonly what: string;
  readonly tookMs: number;
  /** The error code; null when there was no answer. */
  readonly code: string | null;
}

interface DirectCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly auditId: string;
}

const pauseMs = 20;
const shownPaths = [
  '/v1/services',
  '/v1/audit?limit=20',
  '/v1/approvals?limit=20',
  '/v1/rules',
  '/v1/status',
];

export async function startDirectLoad(
  url: string,
  cookie: string,
  upstream: Upstream,
): Promise<DirectLoad> {
  const owner = createCaller(url, { cookie, origin: url });
  const agent = await createAgent(url, owner, 'direct');
  for (const pattern of [`http:GET:${upstream.host}/**`, `http:POST:${upstream.host}/items/**`]) {
    successfulBodyOf(
      await owner.post('/v1/rules', { identity_id: agent.id, effect: 'allow', pattern }),
    );
  }
  const failures: Failure[] = [];
  const calls: DirectCall[] = [];
  const ending = new AbortController();
  const agentCaller = createCallerWithKey(url, agent.key);

  /** Sends one request after the other until the load ends. */
  const repeatUntilEnd = async (send: (number: number) => Promise<void>): Promise<void> => {
    for (let number = 0; !ending.signal.aborted; number += 1) {
      await send(number);
      await sleep(pauseMs);
    }
  };
  const sendAndRecord = async (
    what: string,
    send: () => Promise<Reply>,
  ): Promise<Reply | undefined> => {
    const startedAt = performance.now();
    const recordFailure = (code: string | null, description: string) => {
      const tookMs = performance.now() - startedAt;
      failures.push({ what: `${what}: ${description.slice(0, 300)}`, tookMs, code });
    };
    try {
      const reply = await send();
      if (reply.status === 200) return reply;
      recordFailure(reply.body.error ?? null, `${reply.status} ${JSON.stringify(reply.body)}`);
    } catch (error) {
      recordFailure(null, String((error as Error).cause ?? error));
    }
    return undefined;
  };
  const repeatCall = (method: DirectCall['method']) =>
    repeatUntilEnd(async (number) => {
      const path = `/items/${method.toLowerCase()}-${number}`;
      const body = { service: 'http', method, url: `${upstream.url}${path}` };
      const reply = await sendAndRecord(`${method} ${path}`, () =>
        agentCaller.post('/v1/actions/call', body),
      );
      if (reply !== undefined) calls.push({ method, path, auditId: reply.body.audit_id });
    });
  const repeatListReads = (caller: Caller) =>
    repeatUntilEnd(async (number) => {
      const path = shownPaths[number % shownPaths.length] ?? '';
      await sendAndRecord(`GET ${path}`, () => caller.get(path));
    });
  const loadLoops = [repeatCall('GET'), repeatCall('POST'), repeatListReads(owner)];
  return {
    failures,
    calls,
    async stop() {
      ending.abort();
      await Promise.all(loadLoops);
    },
  };
}

/** Returns one line for each request that failed. Requests that met a time limit do not count. */
export function listFailures({ failures }: DirectLoad, slowMs: number): string[] {
  return failures
    .filter(({ code, tookMs }) => code !== 'unavailable' || tookMs < slowMs)
    .map(({ what, tookMs }) => `${what} (${tookMs} ms)`);
}

/**
 * Reports answered calls that did not arrive at the upstream exactly once, or that do not have the
 * expected audit records.
 */
export async function judgeDirectLoad(
  { calls }: DirectLoad,
  { tables, upstream }: { tables: Tables; upstream: Upstream },
): Promise<string[]> {
  const rows = await tables.query(
    `select call_id, string_agg(type || ' ' || outcome, ', ' order by type) as told
       from audit.record where call_id = any($1) group by call_id`,
    [calls.map(({ auditId }) => auditId)],
  );
  const recordsByCall = new Map(rows.map((row) => [row.call_id as string, row.told as string]));
  const hits = Map.groupBy(upstream.hits, ({ url }) => url);
  const expected = {
    GET: 'action.outcome called',
    POST: 'action.intent started, action.outcome called',
  };
  return calls.flatMap(({ method, path, auditId }) => {
    const arrivalCount = hits.get(path)?.length ?? 0;
    const records = recordsByCall.get(auditId) ?? 'nothing';
    return [
      ...(arrivalCount === 1 ? [] : [`${path} arrived ${arrivalCount} times`]),
      ...(records === expected[method] ? [] : [`${path} is recorded as: ${records}`]),
    ];
  });
}
