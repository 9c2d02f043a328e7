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
import { checkDeclared } from '../test/support/declared-errors.ts';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { gatewayConfig } from './config.ts';
import { createAgentPrincipal } from './principals.testing.ts';
import type { ServerOptions } from './server.ts';
import { startGateway } from './start.ts';
import type { RunningGateway } from './start.ts';

type Contracts = typeof busContracts;
type Mutable<T> = { -readonly [K in keyof T]?: T[K] };
export type ComponentStandIns = { [Name in keyof Contracts]: Mutable<Handlers<Contracts[Name]>> };

/**
 * Runs stand-ins for the other components. Each test sets the answers of the endpoints that it
 * needs.
 */
export interface Stage extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly standIns: ComponentStandIns;
  readonly buses: Readonly<Record<keyof Contracts, Bus>>;
  /** Creates a token for an agent with these claims. */
  tokenFor(claims?: Partial<Principal>): string;
  /** The callers by their tokens, which may be bearer tokens or session cookies. */
  readonly claimsByToken: Map<string, Principal>;
  /** How often the gateway has asked auth to authenticate a credential. */
  readonly lookUps: { count: number };
  /** Publishes a feed item as the notifier would. */
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
  const standInsByComponent: ComponentStandIns = {
    auth: {
      async authenticate({ token }) {
        lookUps.count += 1;
        const account = accounts.get(token);
        if (account === undefined) throw new AppError('unauthenticated', 'No such credential.');
        const claims = { ...account, expiresAt: Date.now() + 10_000 };
        return { principal: signer.sign(claims), claims };
      },
      checkSignInLink: async () => ({ works: true }),
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
    const handlersOfStandIn = standInsByComponent[component] as Record<
      string,
      (...given: unknown[]) => unknown
    >;
    const handlers = Object.fromEntries(
      Object.keys(contract.endpoints).map((endpoint) => [
        endpoint,
        async (...requestArguments: unknown[]) => {
          const handler = handlersOfStandIn[endpoint];
          if (handler === undefined) throw new Error(`${component}.${endpoint} is not on stage`);
          return handler(...requestArguments);
        },
      ]),
    );
    startup.use(await serve(bus, contract, handlers as never, { logger }));
  }

  const stageResources = startup.move();
  return {
    environment,
    standIns: standInsByComponent,
    buses: buses as Record<keyof Contracts, Bus>,
    claimsByToken: accounts,
    lookUps,
    tokenFor(claims = {}) {
      const token = `token-${randomUUID()}`;
      accounts.set(token, { ...createAgentPrincipal(), ...claims });
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
    [Symbol.asyncDispose]: () => stageResources.disposeAsync(),
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

interface SendOptions {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/**
 * Sends one request. Objects are sent as JSON, strings and bytes unchanged. Throws if the answer has
 * an error code that the route does not declare.
 */
export async function sendRequest(
  url: string,
  path: string,
  options: SendOptions = {},
): Promise<Reply> {
  const { token, body, headers = {} } = options;
  const isSentUnchanged = typeof body === 'string' || body instanceof Uint8Array;
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const response = await fetch(new URL(path, url), {
    method,
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isSentUnchanged ? body : JSON.stringify(body) }),
  } as RequestInit);
  const text = await response.text();
  const parsedAnswer = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  checkDeclared({ method, url: new URL(path, url) }, parsedAnswer);
  return { status: response.status, headers: response.headers, body: parsedAnswer };
}
