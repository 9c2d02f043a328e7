import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { startTestProvider } from '../test/support/oauth-provider.ts';
import type { TestProvider } from '../test/support/oauth-provider.ts';
import { hashOfState } from './connections/flow-state.ts';
import { loadConfig } from '#config';
import { createLogger } from '#telemetry';
import { executorConfig } from './config.ts';
import { readMasterKeys } from './vault/master-keys.ts';
import { openVault } from './vault/vault.ts';
import type { OrgBinding } from './vault/vault.ts';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

let world: World;
let provider: TestProvider;
const owned = new AsyncDisposableStack();

/** A ciphertext where it belongs, how it is opened there, and what is said when it is another one. */
interface Place {
  readonly name: string;
  readonly refusal: string;
  put(sealed: Buffer): Promise<unknown>;
  open(): Promise<unknown>;
  /** After an attempt to open it. */
  reset?(): Promise<unknown>;
  readonly own: Buffer;
  /** What it is bound to but for the purpose. */
  readonly record: Pick<OrgBinding, 'orgId' | 'recordId' | 'version'>;
}
const purposes: OrgBinding['purpose'][] = [
  'secret',
  'frozen_call',
  'connection_tokens',
  'connection_flow',
  'oauth_app',
];
let places: Place[];
/** Those of other tables, and of earlier versions of these. */
const strangers: { name: string; sealed: Buffer }[] = [];
let connections: { orgId: string; id: string; name: string; provider: string }[];

beforeAll(async () => {
  world = owned.use(await createWorld());
  provider = owned.use(await startTestProvider());
  const orgs = [world.orgId, uuidv7()] as const;
  for (const orgId of orgs) for (const key of ['one', 'two']) await putApp(orgId, key);
  connections = [];
  for (const orgId of orgs) {
    for (const key of ['one', 'two']) connections.push(await connect(orgId, key));
  }
  await gatherStrangers();
  places = [
    ...(await Promise.all(connections.map(tokensOf))),
    ...(await Promise.all(connections.map(appOf))),
    ...(await Promise.all([connections[0]!, connections[1]!, connections[2]!].map(verifierOf))),
  ];
}, 60_000);
afterAll(() => owned.disposeAsync());
beforeEach(() => {
  provider.answer = null;
  world.upstream.reset();
  provider.tokenRequests.length = 0;
});

const sessions = new Map<string, string>();
/** One browser per org, so that what it began it may finish. */
function browserOf(orgId: string): string {
  const id = sessions.get(orgId) ?? uuidv7();
  sessions.set(orgId, id);
  const credential = { kind: 'session' as const, id, clientId: null };
  return world.principalOf({ role: 'admin', orgId, credential });
}

function putApp(orgId: string, key: string) {
  const definition = { title: 'Mock', issuer: provider.issuer, hosts: [world.upstream.host] };
  const body = { client_id: 'gateway', client_secret: canary(), definition };
  const app = { principal: browserOf(orgId), provider: key, body, context };
  return world.gateway.putOauthApp(app, soon());
}

async function begin(orgId: string, flowId: string): Promise<string> {
  const principal = browserOf(orgId);
  const { url } = await world.gateway.beginConnectionFlow(
    { principal, id: flowId, context },
    soon(),
  );
  const reply = await fetch(url, { redirect: 'manual' });
  return new URL(reply.headers.get('location') ?? '').search.slice(1);
}

const finish = (orgId: string, key: string, query: string) =>
  world.gateway.finishConnectionFlow(
    { principal: browserOf(orgId), provider: key, query, context },
    soon(),
  );

async function connect(orgId: string, key: string) {
  const body = { provider: key, name: `${key}-mine` };
  const principal = browserOf(orgId);
  const asked = await world.gateway.createConnection({ principal, body, context }, soon());
  const flowId = asked.authorization_url.split('/').at(-1) ?? '';
  const { connection } = await finish(orgId, key, await begin(orgId, flowId));
  return { orgId, id: connection.id, name: connection.name, provider: key };
}
type Connected = Awaited<ReturnType<typeof connect>>;

const refresh = ({ orgId, id }: Connected) =>
  world.gateway.refreshConnection({ principal: browserOf(orgId), id, context }, soon());

function call({ orgId, id, name }: Connected) {
  const asked = world.actionCall('get', { id: '1' });
  const permit = world.permitOf(asked, { orgId, connections: [{ id, name }] });
  return world.gateway.execute({ permit, call: asked, options, context }, soon());
}

/** What the events of these changes do in every replica. */
async function forgetAll(): Promise<void> {
  const { nats } = await world.environment.connect('executor');
  nats.publish('evt.executor.secret.changed', JSON.stringify({ data: {} }));
  nats.publish('evt.executor.connection.changed', JSON.stringify({ data: {} }));
  await nats.flush();
}

interface Sealed {
  readonly sealed: Buffer;
  readonly id: string;
  readonly version: number;
}
const only = async (rows: Promise<Sealed[]>): Promise<Sealed> => (await rows)[0]!;

/** The same text, sealed for the same record and version, for everything that it is not. */
async function otherPurposesOf({ record, name }: Place) {
  const { MASTER_KEY } = loadConfig(executorConfig, world.variables);
  const logger = createLogger({ component: 'test', level: 'silent' });
  const vault = await openVault({ db: world.sql, masterKeys: readMasterKeys(MASTER_KEY), logger });
  const own = name.startsWith('tokens') ? 2 : name.startsWith('verifier') ? 3 : 4;
  return Promise.all(
    purposes
      .filter((_, at) => at !== own)
      .map(async (purpose) => ({
        name: `the same for ${purpose}`,
        sealed: await vault.seal(world.sql, { ...record, purpose }, canary()),
      })),
  );
}

async function tokensOf(connection: Connected): Promise<Place> {
  const { id, orgId } = connection;
  const { sealed: own, version } = await only(world.sql`
    select sealed_tokens as sealed, id, token_version as version from executor.connection where org_id = ${orgId} and id = ${id}
  `);
  return {
    name: `tokens of ${orgId} ${connection.name}`,
    refusal: 'reauth_required',
    own,
    record: { orgId, recordId: id, version },
    put: (sealed) => world.sql`
      update executor.connection set sealed_tokens = ${sealed} where org_id = ${orgId} and id = ${id}
    `,
    open: () => call(connection),
  };
}

async function appOf(connection: Connected): Promise<Place> {
  const { orgId, provider: key } = connection;
  const { sealed: own, ...app } = await only(world.sql`
    select sealed_secret as sealed, id, version from executor.oauth_app where org_id = ${orgId} and provider = ${key}
  `);
  return {
    name: `client secret of ${orgId} ${key}`,
    refusal: 'conflict',
    own,
    record: { orgId, recordId: app.id, version: app.version },
    put: (sealed) => world.sql`
      update executor.oauth_app set sealed_secret = ${sealed} where org_id = ${orgId} and provider = ${key}
    `,
    open: () => refresh(connection),
  };
}

async function verifierOf(connection: Connected): Promise<Place> {
  const { orgId, id, provider: key } = connection;
  const wish = { principal: browserOf(orgId), id, scopes: [], context };
  const { flowId } = await world.gateway.repairConnection(wish, soon());
  const read = () =>
    only(world.sql`
      select sealed_verifier as sealed, encode(state_hash, 'hex') as id, 1 as version from executor.connection_flow where org_id = ${orgId} and id = ${flowId}
    `);
  await begin(orgId, flowId);
  strangers.push({ name: `verifier of an earlier beginning`, sealed: (await read()).sealed });
  const query = await begin(orgId, flowId);
  const { sealed: own, id: stateHash } = await read();
  return {
    name: `verifier of ${orgId} ${connection.name}`,
    refusal: 'expired',
    own,
    record: { orgId, recordId: `${flowId} ${stateHash}`, version: 1 },
    put: (sealed) => world.sql`
      update executor.connection_flow set sealed_verifier = ${sealed} where org_id = ${orgId} and id = ${flowId}
    `,
    open: () => finish(orgId, key, query),
    reset: () => world.sql`
      update executor.connection_flow set used_at = null where org_id = ${orgId} and id = ${flowId}
    `,
  };
}

async function gatherStrangers(): Promise<void> {
  const [first] = connections;
  const { orgId } = first!;
  strangers.push(
    { name: 'earlier tokens', sealed: (await tokensOf(first!)).own },
    { name: 'earlier client secret', sealed: (await appOf(first!)).own },
  );
  await refresh(first!);
  await putApp(orgId, 'one');
  const secret = { name: 'plain', value: canary(), allowed_hosts: [world.upstream.host] };
  await world.gateway.createSecret({ principal: browserOf(orgId), body: secret }, soon());
  const asked = world.actionCall('create', { title: 'Frozen', room: 'C07' });
  const approvalId = uuidv7();
  const gap = world.gapOf(asked, { jti: approvalId, orgId });
  const shown = await world.approvals.preview({ gap, call: asked, options, approvalId }, soon());
  if (shown.kind !== 'preview') throw new Error(shown.kind);
  strangers.push(
    { name: 'frozen call', sealed: Buffer.from(shown.sealedCall, 'base64url') },
    {
      ...(await only(world.sql`
        select sealed, secret_id as id, version from executor.secret_version where org_id = ${orgId} limit 1
      `)),
      name: 'secret',
    },
    {
      ...(await only(world.sql`
        select wrapped as sealed, org_id as id, 1 as version from executor.data_key where org_id = ${orgId}
      `)),
      name: 'data key',
    },
    { name: 'nothing', sealed: Buffer.alloc(0) },
  );
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'opened',
    (error: { code?: string }) => error.code,
  );
const stateOf = ({ id }: Connected) =>
  world.sql`select status, sealed_tokens, refresh_lease from executor.connection where id = ${id}`;

describe('what is sealed of connections', { timeout: 120_000 }, () => {
  test('opens in no other place: of no other org, record, version, purpose or table', async () => {
    const seen: string[] = [];
    const wanted: string[] = [];
    for (const place of places) {
      const others = [
        ...places.filter((each) => each !== place).map(({ name, own }) => ({ name, sealed: own })),
        ...(await otherPurposesOf(place)),
        ...strangers,
      ];
      for (const other of others) {
        await place.put(other.sealed);
        await forgetAll();
        seen.push(`${place.name} with ${other.name}: ${await codeOf(place.open())}`);
        wanted.push(`${place.name} with ${other.name}: ${place.refusal}`);
        await place.reset?.();
      }
      await place.put(place.own);
    }
    expect(seen).toEqual(wanted);
    expect(seen.length).toBeGreaterThan(150);
    expect(world.upstream.hits).toEqual([]);
    expect(provider.tokenRequests).toEqual([]);
    expect(await world.outbox('connection.needs_reauth')).toEqual([]);

    await forgetAll();
    for (const place of places)
      expect([place.name, await codeOf(place.open())]).toEqual([place.name, 'opened']);
  });

  test('does not open by another state either', async () => {
    const [one] = connections;
    const { orgId, id } = one!;
    const wish = { principal: browserOf(orgId), id, scopes: [], context };
    const flows = [];
    for (const _ of [1, 2]) {
      const { flowId } = await world.gateway.repairConnection(wish, soon());
      flows.push({ flowId, query: await begin(orgId, flowId) });
    }
    const [first, second] = flows;
    await world.sql`delete from executor.connection_flow where id = ${first!.flowId}`;
    const state = new URLSearchParams(first!.query).get('state') ?? '';
    await world.sql`
      update executor.connection_flow
         set state_hash = ${hashOfState(state)}
       where id = ${second!.flowId}
    `;
    provider.tokenRequests.length = 0;
    expect(await codeOf(finish(orgId, one!.provider, first!.query))).toBe('expired');
    expect(provider.tokenRequests).toEqual([]);
  });
});

describe('a connection whose tokens were exchanged', () => {
  test('keeps what is there, says where it is mended, and works when it is put back', async () => {
    const [one, two] = connections;
    const [mine, other] = [await tokensOf(one!), await tokensOf(two!)];
    await mine.put(other.own);
    await forgetAll();
    const refusal = {
      code: 'reauth_required',
      message: expect.stringContaining('cannot be opened'),
      details: expect.objectContaining({
        connection_id: one!.id,
        auth_url: expect.stringContaining(`/connect/repair/${one!.id}`),
      }),
    };
    await expect(call(one!)).rejects.toMatchObject(refusal);
    await expect(refresh(one!)).rejects.toMatchObject(refusal);
    await world.sql`
      update executor.connection set refresh_at = now(), expires_at = now() where id = ${one!.id}
    `;
    // At each attempt, also in the pause before the next refresh.
    for (const _ of [1, 2]) {
      await forgetAll();
      await expect(call(one!)).rejects.toMatchObject(refusal);
    }
    expect(await stateOf(one!)).toEqual([
      { status: 'active', sealed_tokens: other.own, refresh_lease: null },
    ]);
    expect(await world.outbox('connection.needs_reauth')).toEqual([]);
    expect(provider.tokenRequests).toEqual([]);

    await mine.put(mine.own);
    await refresh(one!);
    await forgetAll();
    expect(await codeOf(call(one!))).toBe('opened');
  });

  test('is connected anew by its owner', async () => {
    const [one, two] = connections;
    await (await tokensOf(one!)).put((await tokensOf(two!)).own);
    const wish = { principal: browserOf(one!.orgId), id: one!.id, scopes: [], context };
    const { flowId } = await world.gateway.repairConnection(wish, soon());
    // Where the earlier refresh token would be kept.
    provider.answer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
    };
    await finish(one!.orgId, one!.provider, await begin(one!.orgId, flowId));
    await forgetAll();
    expect(await codeOf(call(one!))).toBe('opened');
  });

  test('can be revoked, also when the key of its org opens no more', async () => {
    const [, two, three] = connections;
    await (await tokensOf(two!)).put((await tokensOf(three!)).own);
    const [{ wrapped } = { wrapped: null }] = await world.sql<{ wrapped: Buffer }[]>`
      select wrapped from executor.data_key where org_id = ${three!.orgId}
    `;
    await world.sql`
      update executor.data_key set wrapped = ${Buffer.alloc(60)} where org_id = ${three!.orgId}
    `;
    await forgetAll();
    expect(await codeOf(call(three!))).toBe('unavailable');
    for (const { orgId, id } of [two!, three!]) {
      const principal = browserOf(orgId);
      await world.gateway.deleteConnection({ principal, id, context }, soon());
    }
    expect((await stateOf(two!))[0]).toMatchObject({ status: 'revoked', sealed_tokens: null });
    await world.sql`
      update executor.data_key set wrapped = ${wrapped} where org_id = ${three!.orgId}
    `;
  });
});
