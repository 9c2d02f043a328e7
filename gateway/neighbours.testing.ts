import { randomUUID } from 'node:crypto';

import { serve } from '#bus';
import type { Bus, Handlers } from '#bus';
import { loadConfig } from '#config';
import { busContracts } from '#contracts/all';
import { feedSubject } from '#contracts/events';
import type { FeedItem } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { createSigner } from '#signing';
import { createLogger } from '#telemetry';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { gatewayConfig } from './config.ts';
import { agent } from './principals.testing.ts';
import type { ServerOptions } from './server.ts';
import { startGateway } from './start.ts';
import type { RunningGateway } from './start.ts';

type Contracts = typeof busContracts;
type Mutable<T> = { -readonly [K in keyof T]?: T[K] };
export type Neighbours = { [Name in keyof Contracts]: Mutable<Handlers<Contracts[Name]>> };

/** The components behind the edge, answered at their contracts by what each test puts here. */
export interface Stage extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly neighbours: Neighbours;
  readonly buses: Readonly<Record<keyof Contracts, Bus>>;
  /** Makes a token that authenticates as these claims; more is taken from a fresh agent. */
  tokenFor(claims?: Partial<Principal>): string;
  /** Tokens of sessions stand in a cookie, all others in the Authorization header. */
  readonly accounts: Map<string, Principal>;
  /** How often auth was asked. */
  readonly lookUps: { count: number };
  /** Announces a feed item as the notifier would. */
  announce(item: FeedItem): Promise<void>;
  gateway(settings?: Record<string, string>, options?: ServerOptions): Promise<RunningGateway>;
}

export async function createStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const logger = createLogger({ component: 'stage', level: 'silent' });
  const accounts = new Map<string, Principal>();
  const lookUps = { count: 0 };
  const signer = createSigner<Principal>('principal', ...environment.keys.principal);
  const neighbours: Neighbours = {
    auth: {
      async authenticate({ token }) {
        lookUps.count += 1;
        const account = accounts.get(token);
        if (account === undefined) throw new AppError('unauthenticated', 'No such credential.');
        const claims = { ...account, expiresAt: Date.now() + 10_000 };
        return { principal: signer.sign(claims), claims };
      },
    },
    registry: {},
    policy: {},
    executor: {},
    approvals: {},
    notifier: {},
    audit: {},
  };
  const buses: Partial<Record<keyof Contracts, Bus>> = {};
  for (const [name, contract] of Object.entries(busContracts)) {
    const component = name as keyof Contracts;
    const bus = await environment.connect(component);
    buses[component] = bus;
    const table = neighbours[component] as Record<string, (...given: unknown[]) => unknown>;
    const handlers = Object.fromEntries(
      Object.keys(contract.endpoints).map((endpoint) => [
        endpoint,
        async (...given: unknown[]) => {
          const handler = table[endpoint];
          if (handler === undefined) throw new Error(`${component}.${endpoint} is not on stage`);
          return handler(...given);
        },
      ]),
    );
    startup.use(await serve(bus, contract, handlers as never, { logger }));
  }

  const running = startup.move();
  return {
    environment,
    neighbours,
    buses: buses as Record<keyof Contracts, Bus>,
    accounts,
    lookUps,
    tokenFor(claims = {}) {
      const token = `token-${randomUUID()}`;
      accounts.set(token, { ...agent(), ...claims });
      return token;
    },
    async announce(item) {
      const bus = (buses as Record<string, Bus>)['notifier'];
      bus?.nats.publish(feedSubject, JSON.stringify(item));
      await bus?.nats.flush();
    },
    async gateway(settings = {}, options = {}) {
      const config = loadConfig(gatewayConfig, { ...environment.variables, ...settings });
      return startGateway(config, { checkAnswers: true, ...options });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

interface Ask {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** One request; objects are sent as JSON, strings and bytes as they are. */
export async function ask(url: string, path: string, options: Ask = {}): Promise<Reply> {
  const { token, body, headers = {} } = options;
  const isPlain = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(new URL(path, url), {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isPlain ? body : JSON.stringify(body) }),
  } as RequestInit);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}
