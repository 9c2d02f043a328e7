import type { Caller } from '../support/http.ts';
import type { Upstream } from '../support/upstream.ts';

export interface LoadedCall {
  readonly kind: 'read' | 'non-read';
  /** `called`, the error code, or `reset` when the connection ended without an answer. */
  readonly outcome: string;
  /** The audit id of a call that returned the upstream's answer; undefined for other calls. */
  readonly auditId: string | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface LoadResult {
  readonly calls: readonly LoadedCall[];
  /** The number of non-reads that reached the upstream more than once. */
  readonly sentTwice: number;
}

const callers = [
  ...Array.from({ length: 8 }, () => 'read' as const),
  ...Array.from({ length: 4 }, () => 'non-read' as const),
];
/** How long a caller pauses after a failed call, as clients should. */
const pauseAfterFailureMs = 100;

let lastCallNumber = 0;

/**
 * Eight callers make reads and four callers make non-reads, each caller one call after the other,
 * until `work` ends.
 */
export async function makeCallsDuring(
  { agent, upstream }: { agent: Caller; upstream: Upstream },
  work: () => Promise<void>,
): Promise<LoadResult> {
  const calls: LoadedCall[] = [];
  const firstHitIndex = upstream.hits.length;
  let isOver = false;
  const callerLoops = callers.map(async (kind) => {
    while (!isOver) {
      const call = await makeCall(agent, { kind, base: upstream.url });
      calls.push(call);
      if (call.outcome !== 'called')
        await new Promise((resolve) => setTimeout(resolve, pauseAfterFailureMs));
    }
  });
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(callerLoops);
  }
  const writes = upstream.hits.slice(firstHitIndex).filter(({ method }) => method === 'POST');
  return { calls, sentTwice: writes.length - new Set(writes.map(({ url }) => url)).size };
}

async function makeCall(
  agent: Caller,
  { kind, base }: { kind: LoadedCall['kind']; base: string },
): Promise<LoadedCall> {
  const number = (lastCallNumber += 1);
  const method = kind === 'read' ? 'GET' : 'POST';
  const startedAt = performance.now();
  let outcome = 'reset';
  let auditId: string | undefined;
  try {
    const { body } = await agent.post('/v1/actions/call', {
      service: 'http',
      method,
      url: `${base}/${kind}s/${number}`,
      ...(method === 'POST' && { body: { number } }),
    });
    outcome = body.error ?? body.status;
    if (outcome === 'called') auditId = body.audit_id;
  } catch {
    // The connection was refused or reset.
  }
  return { kind, outcome, auditId, startedAt, endedAt: performance.now() };
}
