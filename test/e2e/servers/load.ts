import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createCaller, signIn, createCallerWithKey } from '../../support/http.ts';
import type { Caller } from '../../support/http.ts';
import type { Program } from '../../support/program.ts';
import type { Upstream } from '../../support/upstream.ts';
import { createAgent, successfulBodyOf } from '../../support/world.ts';

/** One call and the answer that its caller got. */
export interface AnsweredCall {
  readonly number: number;
  readonly kind: 'read' | 'write';
  /** `called`, or the code of the error. */
  readonly outcome: string;
  readonly auditId: string | undefined;
  readonly endedAt: number;
  readonly tookMs: number;
}

export interface Actors {
  readonly admin: Caller;
  readonly bot: Caller;
  readonly targetUrl: string;
}

/** Creates an admin, and an agent that may call the upstream without approval. */
export async function createActors(program: Program, upstream: Upstream): Promise<Actors> {
  const signInUrl = await program.signInUrl();
  const url = new URL(signInUrl).origin;
  const user = await signIn(signInUrl);
  const { id, key } = await createAgent(url, user, 'bot');
  for (const method of ['GET', 'POST']) {
    successfulBodyOf(
      await user.post('/v1/rules', {
        identity_id: id,
        effect: 'allow',
        pattern: `http:${method}:${upstream.host}/**`,
      }),
    );
  }
  return {
    admin: createCaller(url, { cookie: user.cookie, origin: url }),
    bot: createCallerWithKey(url, key),
    targetUrl: upstream.url,
  };
}

let lastNumber = 0;

/** Makes numbered reads and writes in concurrent loops until disposed. */
export function startLoad({
  bot,
  targetUrl: target,
}: Actors): AsyncDisposable & { readonly answeredCalls: AnsweredCall[] } {
  const answeredCalls: AnsweredCall[] = [];
  const stop = new AbortController();
  const loops = (['read', 'write', 'read', 'write', 'read', 'write'] as const).map(async (kind) => {
    while (!stop.signal.aborted) {
      const number = (lastNumber += 1);
      const startedAt = performance.now();
      const { body } = await bot.post('/v1/actions/call', {
        service: 'http',
        method: kind === 'read' ? 'GET' : 'POST',
        url: `${target}/${kind}s/${number}`,
        timeout_ms: 5_000,
        ...(kind === 'write' && { body: { number } }),
      });
      const endedAt = performance.now();
      const outcome = body.error ?? body.status;
      const auditId = body.audit_id ?? body.details?.audit_id;
      answeredCalls.push({ number, kind, outcome, auditId, endedAt, tookMs: endedAt - startedAt });
      await new Promise((resolve) => setTimeout(resolve, outcome === 'called' ? 10 : 100));
    }
  });
  return {
    answeredCalls,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(loops);
    },
  };
}

const pidFiles = { nats: 'nats/nats.pid', postgres: 'postgres/data/postmaster.pid' };
export type Server = keyof typeof pidFiles;

/** The pid of an embedded server, from its pid file. */
export async function pidOf(dataDir: string, server: Server): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, pidFiles[server]), 'utf8'), 10);
}

/** Finds calls whose answer contradicts the upstream's own log of the writes that arrived. */
export function findBreaches(answeredCalls: readonly AnsweredCall[], { hits }: Upstream): string[] {
  const arrivals = new Map<string, number>();
  for (const { url } of hits) arrivals.set(url, (arrivals.get(url) ?? 0) + 1);
  const arrivalsByOutcome: Record<string, readonly number[]> = {
    called: [1],
    unavailable: [0],
    outcome_unknown: [0, 1],
  };
  return answeredCalls.flatMap(({ number, kind, outcome }) => {
    if (kind === 'read') {
      return ['called', 'unavailable'].includes(outcome) ? [] : [`read ${number}: ${outcome}`];
    }
    const arrivalCount = arrivals.get(`/writes/${number}`) ?? 0;
    if (arrivalsByOutcome[outcome]?.includes(arrivalCount) === true) return [];
    return [`write ${number}: ${outcome}, and arrived ${arrivalCount} times`];
  });
}
