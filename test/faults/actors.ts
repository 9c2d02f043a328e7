import { callTool, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { signInAsUser } from '../e2e/support/clients.ts';
import { byMcp, byRest } from '../e2e/support/resolvers.ts';
import type { Resolver } from '../e2e/support/resolvers.ts';
import type { Upstream } from '../e2e/support/upstream.ts';
import { createAgent, created } from '../e2e/support/world.ts';
import { createCaller, withKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';

/** An answer by either way: the status of HTTP, and the fields of the body or of the tool's result. */
export interface Answer {
  readonly http: number;
  readonly status?: string;
  readonly error?: string;
  readonly approval_id?: string;
  readonly resolution?: string | null;
}

/** An agent that asks for orders. */
export interface Requester {
  readonly id: string;
  readonly way: 'REST' | 'MCP';
  /** Runs what was allowed itself; otherwise that is done by itself. */
  readonly runsItself: boolean;
  order(number: number): Promise<Answer>;
  resume(approvalId: string): Promise<Answer>;
}

export interface Actors {
  readonly requesters: readonly Requester[];
  /** Who may decide what a requester asks for, by its id. */
  readonly resolversOf: ReadonlyMap<string, readonly Resolver[]>;
  /** The owner of everything, at each gateway. */
  readonly owners: readonly Caller[];
  readonly cookie: string;
}

const renewTokenMs = 8 * 60_000;

export type Session = Caller & { readonly cookie: string };

/** A user, agents of both ways and kinds, and a parent agent whose subagents ask it. */
export async function prepareActors(
  { cookie, ...owner }: Session,
  urls: readonly string[],
  upstream: Upstream,
): Promise<Actors> {
  const url = urls[0] ?? '';
  const me = created(await owner.get('/v1/identities/me'));
  const secret = { name: 'orders_token', value: 'CANARY-orders', tier: 'org' };
  created(await owner.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }));
  const service = { template: 'orders', tier: 'org', base_url: upstream.url };
  created(await owner.post('/v1/services', service));

  const parent = await createAgent(url, owner, 'parent');
  for (const pattern of ['org/orders:place_order:*', `http:POST:${upstream.host}/**`]) {
    created(await owner.post('/v1/rules', { identity_id: parent.id, effect: 'allow', pattern }));
  }
  const keyOfChild = async (name: string) => {
    const child = { name, parent_id: parent.id, inherit_permissions: false };
    const { id } = created(await owner.post('/v1/identities/subagents', child));
    const { key } = created(await owner.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    return { id, key };
  };
  const manual = await createAgent(url, owner, 'manual');
  created(await owner.patch(`/v1/identities/${manual.id}`, { auto_call_on_approve: false }));

  const requester = createRequesters(urls, upstream);
  const ofParent = [
    requester(await keyOfChild('child'), 'REST'),
    requester(await keyOfChild('second-child'), 'MCP'),
  ];
  const ofOwner = [
    requester(await createAgent(url, owner, 'bot'), 'REST'),
    requester(await createAgent(url, owner, 'assistant'), 'MCP'),
    requester(manual, 'REST', true),
  ];

  const owners = urls.map((each) => createCaller(each, { cookie, origin: each }));
  const ownerToken = await keepToken({ url, admin: { cookie } });
  const asOwner = urls.flatMap((each, index) => [
    byRest({ name: 'owner', id: me.id }, owners[index] as Caller),
    byToken({ name: 'owner', id: me.id }, each, ownerToken),
  ]);
  const asParent = urls.flatMap((each) => [
    byRest({ name: 'parent', id: parent.id }, withKey(each, parent.key)),
    byMcp({ name: 'parent', id: parent.id }, each, parent.key),
  ]);
  return {
    requesters: [...ofParent, ...ofOwner],
    resolversOf: new Map([
      ...ofParent.map(({ id }) => [id, [...asParent, ...asOwner]] as const),
      ...ofOwner.map(({ id }) => [id, asOwner] as const),
    ]),
    owners,
    cookie,
  };
}

/** Access tokens last a quarter of an hour: a client signs in again before, as soon as it can. */
async function keepToken(place: Parameters<typeof signInAsUser>[0]): Promise<() => string> {
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

function byToken(who: { name: string; id: string }, url: string, token: () => string): Resolver {
  return {
    ...byMcp(who, url, ''),
    decide: (id, resolution) => byMcp(who, url, token()).decide(id, resolution),
  };
}

/** Over REST as raw HTTP with an idempotency key, over MCP as the action of a service. */
function createRequesters(urls: readonly string[], upstream: Upstream) {
  let turn = 0;
  const nextUrl = () => urls[(turn += 1) % urls.length] ?? '';
  return (
    { id, key }: { id: string; key: string },
    way: Requester['way'],
    runsItself = false,
  ): Requester => ({
    id,
    way,
    runsItself,
    async order(number) {
      if (way === 'REST') {
        const call = { service: 'http', method: 'POST', url: `${upstream.url}/orders/${number}` };
        const headers = { 'idempotency-key': `order-${number}` };
        return ofRest(await withKey(nextUrl(), key).post('/v1/actions/call', call, headers));
      }
      const given = {
        service: 'orders',
        action: 'place_order',
        params: { number: String(number) },
      };
      return ofMcp(await postMcp(nextUrl(), key, { body: callTool('service_call', given) }));
    },
    async resume(approvalId) {
      const call = { approval_id: approvalId };
      return ofRest(await withKey(nextUrl(), key).post('/v1/actions/call', call));
    },
  });
}

const ofRest = ({ status, body }: { status: number; body: object }): Answer => ({
  ...body,
  http: status,
});

const ofMcp = ({ status, body }: Awaited<ReturnType<typeof postMcp>>): Answer => ({
  ...(body?.result?.structuredContent ?? body?.error?.data),
  http: status,
});
