import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import type { statusRoutes } from '#contracts/http/status';
import type { OutboxState, ReaderState } from '#contracts/events';
import type { Component } from '#contracts/vocabulary';
import type { Deps, ComponentClients } from '../deps.ts';
import type { HandlersOf } from '../http/route-handler.ts';

const pingMsMax = 1_000;

export function statusHandlers(deps: Deps): HandlersOf<typeof statusRoutes> {
  return {
    async getStatus() {
      const states = await Promise.all(
        Object.entries(pingComponents(deps)).map(
          async ([name, ping]) => [name, await measureReply(ping)] as const,
        ),
      );
      const isReady = deps.readiness.failing().length === 0;
      const components = {
        gateway: { status: isReady ? 'ok' : 'unavailable', latency_ms: 0 },
        ...Object.fromEntries(states),
      } as Record<Component, ComponentState>;
      const { streams, consumers } = deps.streams.states();
      const storageStates = [...Object.values(streams), ...Object.values(consumers)];
      const isEverythingOk =
        isReady &&
        states.every(([, { status }]) => status === 'ok') &&
        storageStates.every(({ status }) => status === 'ok' || status === 'unknown');
      const status = isEverythingOk ? 'ok' : 'degraded';
      return { status: 200, body: { status, components, streams, consumers } };
    },
    getLive: async () => ({ status: 200, body: { status: 'ok' } }),
    async getReady() {
      const failingChecks = deps.readiness.failing();
      if (failingChecks.length === 0) return { status: 200, body: { status: 'ok' } };
      return { status: 503, body: { status: 'unavailable', failing: [...failingChecks] } };
    },
  };
}

interface PingAnswer {
  readonly busy?: boolean;
  readonly reading?: ReaderState;
  readonly unreadable?: number;
  readonly outbox?: OutboxState | undefined;
}

type Ping = (deadline: Deadline) => Promise<PingAnswer>;

interface ComponentState {
  readonly status: 'ok' | 'busy' | 'degraded' | 'unavailable';
  readonly latency_ms: number | null;
  readonly reading?: ReaderState;
  readonly outbox?: OutboxState;
  readonly unreadable?: number;
}

function pingComponents(clients: ComponentClients): Record<Exclude<Component, 'gateway'>, Ping> {
  const { auth, registry, policy, executor, approvals, notifier, audit } = clients;
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

async function measureReply(ping: Ping): Promise<ComponentState> {
  const startedAt = performance.now();
  try {
    const { busy = false, reading, outbox, unreadable } = await ping(deadlineIn(pingMsMax));
    const latencyMs = Math.round((performance.now() - startedAt) * 10) / 10;
    const readsEvents = reading === undefined || reading === 'ok';
    return {
      status: busy ? 'busy' : readsEvents ? 'ok' : 'degraded',
      latency_ms: latencyMs,
      ...(reading !== undefined && { reading }),
      ...(outbox !== undefined && { outbox }),
      ...(unreadable !== undefined && { unreadable }),
    };
  } catch {
    // The reason is in the component's own log.
    return { status: 'unavailable', latency_ms: null };
  }
}
