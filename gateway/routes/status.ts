import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import type { statusRoutes } from '#contracts/http/status';
import type { ReaderState } from '#contracts/events';
import type { Component } from '#contracts/vocabulary';
import type { Deps, Neighbours } from '../deps.ts';
import type { HandlersOf } from '../route.ts';

const pingMsMax = 1_000;

export function statusHandlers(deps: Deps): HandlersOf<typeof statusRoutes> {
  return {
    async getStatus() {
      const states = await Promise.all(
        Object.entries(pings(deps)).map(
          async ([name, ping]) => [name, await measure(ping)] as const,
        ),
      );
      const components = {
        gateway: { status: 'ok', latency_ms: 0 },
        ...Object.fromEntries(states),
      } as Record<Component, ComponentState>;
      const isWhole = states.every(([, { status }]) => status === 'ok');
      return { status: 200, body: { status: isWhole ? 'ok' : 'degraded', components } };
    },
    getLive: async () => ({ status: 200, body: { status: 'ok' } }),
    async getReady() {
      if (!deps.stopping.aborted && (await isConnected(deps))) {
        return { status: 200, body: { status: 'ok' } };
      }
      return { status: 503, body: { status: 'unavailable' } };
    },
  };
}

type Ping = (
  deadline: Deadline,
) => Promise<{ readonly busy?: boolean; readonly reading?: ReaderState }>;

interface ComponentState {
  readonly status: 'ok' | 'busy' | 'degraded' | 'unavailable';
  readonly latency_ms: number | null;
  readonly reading?: ReaderState;
}

function pings(neighbours: Neighbours): Record<Exclude<Component, 'gateway'>, Ping> {
  const { auth, registry, policy, executor, approvals, notifier, audit } = neighbours;
  return {
    auth: (deadline) => auth.ping({}, deadline),
    registry: (deadline) => registry.ping({}, deadline),
    policy: (deadline) => policy.ping({}, deadline),
    executor: (deadline) => executor.ping({}, deadline),
    approvals: (deadline) => approvals.ping({}, deadline),
    notifier: (deadline) => notifier.ping({}, deadline),
    audit: (deadline) => audit.ping({}, deadline),
  };
}

async function measure(ping: Ping): Promise<ComponentState> {
  const startedAt = performance.now();
  try {
    const { busy = false, reading } = await ping(deadlineIn(pingMsMax));
    const latencyMs = Math.round((performance.now() - startedAt) * 10) / 10;
    if (reading === undefined) return { status: busy ? 'busy' : 'ok', latency_ms: latencyMs };
    return { status: reading === 'ok' ? 'ok' : 'degraded', latency_ms: latencyMs, reading };
  } catch {
    // Whatever the reason, it does not answer as it should; its own log says why.
    return { status: 'unavailable', latency_ms: null };
  }
}

async function isConnected({ bus }: Deps): Promise<boolean> {
  if (bus.nats.isClosed()) return false;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), pingMsMax);
  });
  const answered = bus.nats.flush().then(
    () => true,
    () => false,
  );
  const isUp = await Promise.race([answered, tooLate]);
  clearTimeout(timer);
  return isUp;
}
