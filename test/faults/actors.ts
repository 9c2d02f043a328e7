import { createToolCall, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { signInAsUser } from '../support/clients.ts';
import { createMcpResolver, createRestResolver } from '../support/resolvers.ts';
import type { Resolver } from '../support/resolvers.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf } from '../support/world.ts';
import { createCaller, signInWithNewest, createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { Processes } from './processes.ts';

/**
 * A response over REST or MCP: the HTTP status, and the members of the response body or of the
 * tool's result.
 */
export interface Answer {
  readonly http: number;
  readonly status?: string;
  readonly error?: string;
  readonly approval_id?: string;
  readonly resolution?: string | null;
}

/** An agent that requests orders. */
export interface Requester {
  readonly id: string;
  readonly way: 'REST' | 'MCP';
  /**
   * True if the agent itself asks for the replay of its allowed calls. Otherwise the gateway
   * replays them.
   */
  readonly replaysItself: boolean;
  order(number: number): Promise<Answer>;
  resume(approvalId: string): Promise<Answer>;
}

export interface Actors {
  readonly requesters: readonly Requester[];
  /** For each requester's id: the people and agents that may decide the requester's approvals. */
  readonly resolversOf: ReadonlyMap<string, readonly Resolver[]>;
  /** The user who owns every agent, as one caller per gateway. */
  readonly owners: readonly Caller[];
  readonly cookie: string;
}

const renewTokenMs = 8 * 60_000;

export type Session = Caller & { readonly cookie: string };

/**
 * Signs in with the newest link. Each start of a replica of auth makes the earlier links invalid.
 */
export async function signInFirst(processes: Processes): Promise<Session> {
  return signInWithNewest(await processes.logs());
}

/**
 * Creates a user, agents that request orders, and a parent agent that decides for its subagents.
 * There are requesting agents for each protocol, and for replay by the gateway and by the agent
 * itself.
 */
export async function prepareActors(
  { cookie, ...owner }: Session,
  urls: readonly string[],
  upstream: Upstream,
): Promise<Actors> {
  const url = urls[0] ?? '';
  const me = successfulBodyOf(await owner.get('/v1/identities/me'));
  const secret = { name: 'orders_token', value: 'CANARY-orders', tier: 'org' };
  successfulBodyOf(await owner.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }));
  const service = { template: 'orders', tier: 'org', base_url: upstream.url };
  successfulBodyOf(await owner.post('/v1/services', service));

  const parent = await createAgent(url, owner, 'parent');
  for (const pattern of ['org/orders:place_order:*', `http:POST:${upstream.host}/**`]) {
    successfulBodyOf(
      await owner.post('/v1/rules', { identity_id: parent.id, effect: 'allow', pattern }),
    );
  }
  const keyOfChild = async (name: string) => {
    const child = { name, parent_id: parent.id, inherit_permissions: false };
    const { id } = successfulBodyOf(await owner.post('/v1/identities/subagents', child));
    const { key } = successfulBodyOf(
      await owner.post(`/v1/identities/${id}/keys`, { name: 'test' }),
    );
    return { id, key };
  };
  const manualAgent = await createAgent(url, owner, 'manual');
  successfulBodyOf(
    await owner.patch(`/v1/identities/${manualAgent.id}`, { auto_call_on_approve: false }),
  );

  const createRequester = createRequesters(urls, upstream);
  const requestersOfParent = [
    createRequester(await keyOfChild('child'), 'REST'),
    createRequester(await keyOfChild('second-child'), 'MCP'),
  ];
  const requestersOfOwner = [
    createRequester(await createAgent(url, owner, 'bot'), 'REST'),
    createRequester(await createAgent(url, owner, 'assistant'), 'MCP'),
    createRequester(manualAgent, 'REST', true),
  ];

  const owners = urls.map((each) => createCaller(each, { cookie, origin: each }));
  const ownerToken = await keepTokenFresh({ url, admin: { cookie } });
  const resolversAsOwner = urls.flatMap((each, index) => [
    createRestResolver({ name: 'owner', id: me.id }, owners[index] as Caller),
    createTokenResolver({ name: 'owner', id: me.id }, each, ownerToken),
  ]);
  const resolversAsParent = urls.flatMap((each) => [
    createRestResolver({ name: 'parent', id: parent.id }, createCallerWithKey(each, parent.key)),
    createMcpResolver({ name: 'parent', id: parent.id }, each, parent.key),
  ]);
  return {
    requesters: [...requestersOfParent, ...requestersOfOwner],
    resolversOf: new Map([
      ...requestersOfParent.map(
        ({ id }) => [id, [...resolversAsParent, ...resolversAsOwner]] as const,
      ),
      ...requestersOfOwner.map(({ id }) => [id, resolversAsOwner] as const),
    ]),
    owners,
    cookie,
  };
}

/**
 * Signs an OAuth client in again before its access token expires after 15 minutes, and retries
 * until this succeeds.
 */
async function keepTokenFresh(place: Parameters<typeof signInAsUser>[0]): Promise<() => string> {
  let { token } = await signInAsUser(place);
  let renewAt = performance.now() + renewTokenMs;
  return () => {
    if (performance.now() > renewAt) {
      renewAt = performance.now() + 5_000;
      signInAsUser(place).then(
        (client) => {
          token = client.token ?? token;
          renewAt = performance.now() + renewTokenMs;
        },
        () => undefined,
      );
    }
    return token;
  };
}

function createTokenResolver(
  who: { name: string; id: string },
  url: string,
  token: () => string,
): Resolver {
  return {
    ...createMcpResolver(who, url, ''),
    decide: (id, resolution) => createMcpResolver(who, url, token()).decide(id, resolution),
  };
}

/**
 * Returns a function that creates requesters. Agents over REST make calls with a full URL and an
 * idempotency key. Agents over MCP call an action of a service.
 */
function createRequesters(urls: readonly string[], upstream: Upstream) {
  let turnCount = 0;
  const nextUrl = () => urls[(turnCount += 1) % urls.length] ?? '';
  return (
    { id, key }: { id: string; key: string },
    way: Requester['way'],
    runsItself = false,
  ): Requester => ({
    id,
    way,
    replaysItself: runsItself,
    async order(number) {
      if (way === 'REST') {
        const call = { service: 'http', method: 'POST', url: `${upstream.url}/orders/${number}` };
        const headers = { 'idempotency-key': `order-${number}` };
        return answerOfRest(
          await createCallerWithKey(nextUrl(), key).post('/v1/actions/call', call, headers),
        );
      }
      const givenCall = {
        service: 'orders',
        action: 'place_order',
        params: { number: String(number) },
      };
      return answerOfMcp(
        await postMcp(nextUrl(), key, { body: createToolCall('service_call', givenCall) }),
      );
    },
    async resume(approvalId) {
      const call = { approval_id: approvalId };
      return answerOfRest(await createCallerWithKey(nextUrl(), key).post('/v1/actions/call', call));
    },
  });
}

const answerOfRest = ({ status, body }: { status: number; body: object }): Answer => ({
  ...body,
  http: status,
});

const answerOfMcp = ({ status, body }: Awaited<ReturnType<typeof postMcp>>): Answer => ({
  ...(body?.result?.structuredContent ?? body?.error?.data),
  http: status,
});
