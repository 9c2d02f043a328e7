import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { startTestProvider } from '../../test/support/oauth-provider.ts';
import type { TestProvider } from '../../test/support/oauth-provider.ts';
import { hashOfState } from '../connections/flow-state.ts';
import { loadConfig } from '#config';
import { createLogger } from '#telemetry';
import { executorConfig } from '../config.ts';
import { readMasterKeys } from './master-keys.ts';
import { openVault } from './vault.ts';
import type { OrgSealContext } from './vault.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
let provider: TestProvider;
const cleanup = new AsyncDisposableStack();

/**
 * A place where a ciphertext is stored, with a function that opens what is stored there, and the
 * expected error for the ciphertext of another place.
 */
interface SealedPlace {
  readonly name: string;
  readonly refusal: string;
  put(sealed: Buffer): Promise<unknown>;
  open(): Promise<unknown>;
  /** Undoes, after each attempt, what opening has changed. */
  reset?(): Promise<unknown>;
  readonly own: Buffer;
  /** The org, record and version that the ciphertext is bound to. The purpose is bound as well. */
  readonly record: Pick<OrgSealContext, 'orgId' | 'recordId' | 'version'>;
}
const purposes: OrgSealContext['purpose'][] = [
  'secret',
  'frozen_call',
  'connection_tokens',
  'connection_flow',
  'oauth_app',
];
let places: SealedPlace[];
/** Ciphertexts of other tables, and ciphertexts of earlier versions. */
const foreignCiphertexts: { name: string; sealed: Buffer }[] = [];
let connections: { orgId: string; id: string; name: string; provider: string }[];

beforeAll(async () => {
  world = cleanup.use(await createWorld());
  provider = cleanup.use(await startTestProvider());
  const orgs = [world.orgId, uuidv7()] as const;
  for (const orgId of orgs) for (const key of ['one', 'two']) await putApp(orgId, key);
  connections = [];
  for (const orgId of orgs) {
    for (const key of ['one', 'two']) connections.push(await makeConnection(orgId, key));
  }
  await collectForeignCiphertexts();
  places = [
    ...(await Promise.all(connections.map(placeOfTokens))),
    ...(await Promise.all(connections.map(placeOfClientSecret))),
    ...(await Promise.all(
      [connections[0]!, connections[1]!, connections[2]!].map(placeOfVerifier),
    )),
  ];
});
afterAll(() => cleanup.disposeAsync());
beforeEach(() => {
  provider.changeAnswer = null;
  world.upstream.reset();
  provider.tokenRequests.length = 0;
});

const sessionIdsByOrg = new Map<string, string>();
/**
 * The browser session of an org's user. A flow must be finished in the session that began it, so
 * each org has only one.
 */
function browserOf(orgId: string): string {
  const id = sessionIdsByOrg.get(orgId) ?? uuidv7();
  sessionIdsByOrg.set(orgId, id);
  const credential = { kind: 'session' as const, id, clientId: null };
  return world.principalOf({ role: 'admin', orgId, credential });
}

function putApp(orgId: string, key: string) {
  const definition = { title: 'Mock', issuer: provider.issuer, hosts: [world.upstream.host] };
  const body = { client_id: 'gateway', client_secret: canary(), definition };
  const app = { principal: browserOf(orgId), provider: key, body, context };
  return world.gateway.putOauthApp(app, testDeadline());
}

async function beginFlow(orgId: string, flowId: string): Promise<string> {
  const principal = browserOf(orgId);
  const { url } = await world.gateway.beginConnectionFlow(
    { principal, id: flowId, context },
    testDeadline(),
  );
  const reply = await fetch(url, { redirect: 'manual' });
  return new URL(reply.headers.get('location') ?? '').search.slice(1);
}

const finishFlow = (orgId: string, key: string, query: string) =>
  world.gateway.finishConnectionFlow(
    { principal: browserOf(orgId), provider: key, query, context },
    testDeadline(),
  );

async function makeConnection(orgId: string, key: string) {
  const body = { provider: key, name: `${key}-mine` };
  const principal = browserOf(orgId);
  const requestedConnection = await world.gateway.createConnection(
    { principal, body, context },
    testDeadline(),
  );
  const flowId = requestedConnection.authorization_url.split('/').at(-1) ?? '';
  const { connection } = await finishFlow(orgId, key, await beginFlow(orgId, flowId));
  return { orgId, id: connection.id, name: connection.name, provider: key };
}
type MadeConnection = Awaited<ReturnType<typeof makeConnection>>;

const refreshNow = ({ orgId, id }: MadeConnection) =>
  world.gateway.refreshConnection({ principal: browserOf(orgId), id, context }, testDeadline());

function callWith({ orgId, id, name }: MadeConnection) {
  const callToMake = world.actionCall('get', { id: '1' });
  const permit = world.permitOf(callToMake, { orgId, connections: [{ id, name }] });
  return world.gateway.execute({ permit, call: callToMake, options, context }, testDeadline());
}

/** Drops the caches. The test changes rows directly, so no event does that. */
async function dropCaches(): Promise<void> {
  const { nats } = await world.environment.connect('executor');
  nats.publish('evt.executor.secret.changed', JSON.stringify({ data: {} }));
  nats.publish('evt.executor.connection.changed', JSON.stringify({ data: {} }));
  await nats.flush();
}

interface SealedRow {
  readonly sealed: Buffer;
  readonly id: string;
  readonly version: number;
}
const singleRow = async (rows: Promise<SealedRow[]>): Promise<SealedRow> => (await rows)[0]!;

/**
 * Seals a text for the record and version of a place, once for each purpose except the place's own.
 */
async function otherPurposesOf({ record, name }: SealedPlace) {
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

async function placeOfTokens(connection: MadeConnection): Promise<SealedPlace> {
  const { id, orgId } = connection;
  const { sealed: own, version } = await singleRow(world.sql`
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
    open: () => callWith(connection),
  };
}

async function placeOfClientSecret(connection: MadeConnection): Promise<SealedPlace> {
  const { orgId, provider: key } = connection;
  const { sealed: own, ...app } = await singleRow(world.sql`
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
    open: () => refreshNow(connection),
  };
}

async function placeOfVerifier(connection: MadeConnection): Promise<SealedPlace> {
  const { orgId, id, provider: key } = connection;
  const scopesRequest = { principal: browserOf(orgId), id, scopes: [], context };
  const { flowId } = await world.gateway.repairConnection(scopesRequest, testDeadline());
  const readVerifierRow = () =>
    singleRow(world.sql`
      select sealed_verifier as sealed, encode(state_hash, 'hex') as id, 1 as version from executor.connection_flow where org_id = ${orgId} and id = ${flowId}
    `);
  await beginFlow(orgId, flowId);
  foreignCiphertexts.push({
    name: `verifier of an earlier beginning`,
    sealed: (await readVerifierRow()).sealed,
  });
  const query = await beginFlow(orgId, flowId);
  const { sealed: own, id: stateHash } = await readVerifierRow();
  return {
    name: `verifier of ${orgId} ${connection.name}`,
    refusal: 'expired',
    own,
    record: { orgId, recordId: `${flowId} ${stateHash}`, version: 1 },
    put: (sealed) => world.sql`
      update executor.connection_flow set sealed_verifier = ${sealed} where org_id = ${orgId} and id = ${flowId}
    `,
    open: () => finishFlow(orgId, key, query),
    reset: () => world.sql`
      update executor.connection_flow set used_at = null where org_id = ${orgId} and id = ${flowId}
    `,
  };
}

async function collectForeignCiphertexts(): Promise<void> {
  const [first] = connections;
  const { orgId } = first!;
  foreignCiphertexts.push(
    { name: 'earlier tokens', sealed: (await placeOfTokens(first!)).own },
    { name: 'earlier client secret', sealed: (await placeOfClientSecret(first!)).own },
  );
  await refreshNow(first!);
  await putApp(orgId, 'one');
  const secret = { name: 'plain', value: canary(), allowed_hosts: [world.upstream.host] };
  await world.gateway.createSecret({ principal: browserOf(orgId), body: secret }, testDeadline());
  const callToMake = world.actionCall('create', { title: 'Frozen', room: 'C07' });
  const approvalId = uuidv7();
  const gap = world.gapOf(callToMake, { jti: approvalId, orgId });
  const shownCard = await world.approvals.preview(
    { gap, call: callToMake, options, approvalId },
    testDeadline(),
  );
  if (shownCard.kind !== 'preview') throw new Error(shownCard.kind);
  foreignCiphertexts.push(
    { name: 'frozen call', sealed: Buffer.from(shownCard.sealedCall, 'base64url') },
    {
      ...(await singleRow(world.sql`
        select sealed, secret_id as id, version from executor.secret_version where org_id = ${orgId} limit 1
      `)),
      name: 'secret',
    },
    {
      ...(await singleRow(world.sql`
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
const stateOf = ({ id }: MadeConnection) =>
  world.sql`select status, sealed_tokens, refresh_lease from executor.connection where id = ${id}`;

describe('the ciphertexts of connections', { timeout: 120_000 }, () => {
  test('cannot be opened when they are copied to another org, record, version, purpose or table', async () => {
    const seenTokens: string[] = [];
    const expectedTokens: string[] = [];
    for (const place of places) {
      const others = [
        ...places.filter((each) => each !== place).map(({ name, own }) => ({ name, sealed: own })),
        ...(await otherPurposesOf(place)),
        ...foreignCiphertexts,
      ];
      for (const other of others) {
        await place.put(other.sealed);
        await dropCaches();
        seenTokens.push(`${place.name} with ${other.name}: ${await codeOf(place.open())}`);
        expectedTokens.push(`${place.name} with ${other.name}: ${place.refusal}`);
        await place.reset?.();
      }
      await place.put(place.own);
    }
    expect(seenTokens).toEqual(expectedTokens);
    expect(seenTokens.length).toBeGreaterThan(150);
    expect(world.upstream.hits).toEqual([]);
    expect(provider.tokenRequests).toEqual([]);
    expect(await world.outbox('connection.needs_reauth')).toEqual([]);

    await dropCaches();
    for (const place of places)
      expect([place.name, await codeOf(place.open())]).toEqual([place.name, 'opened']);
  });

  test('cannot be opened with another state if they are PKCE verifiers', async () => {
    const [one] = connections;
    const { orgId, id } = one!;
    const scopesRequest = { principal: browserOf(orgId), id, scopes: [], context };
    const flows = [];
    for (const _ of [1, 2]) {
      const { flowId } = await world.gateway.repairConnection(scopesRequest, testDeadline());
      flows.push({ flowId, query: await beginFlow(orgId, flowId) });
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
    expect(await codeOf(finishFlow(orgId, one!.provider, first!.query))).toBe('expired');
    expect(provider.tokenRequests).toEqual([]);
  });
});

describe('a connection whose sealed tokens were replaced', () => {
  test('keeps its ciphertext, has an error that names who can repair it, and works when the right ciphertext is restored', async () => {
    const [one, two] = connections;
    const [mine, other] = [await placeOfTokens(one!), await placeOfTokens(two!)];
    await mine.put(other.own);
    await dropCaches();
    const refusal = {
      code: 'reauth_required',
      message: expect.stringContaining('cannot be opened'),
      details: expect.objectContaining({
        connection_id: one!.id,
        auth_url: expect.stringContaining(`/connect/repair/${one!.id}`),
      }),
    };
    await expect(callWith(one!)).rejects.toMatchObject(refusal);
    await expect(refreshNow(one!)).rejects.toMatchObject(refusal);
    await world.sql`
      update executor.connection set refresh_at = now(), expires_at = now() where id = ${one!.id}
    `;
    // The first attempt tries to refresh the tokens, and the second comes during the pause after
    // it. Both must fail with this error.
    for (const _ of [1, 2]) {
      await dropCaches();
      await expect(callWith(one!)).rejects.toMatchObject(refusal);
    }
    expect(await stateOf(one!)).toEqual([
      { status: 'active', sealed_tokens: other.own, refresh_lease: null },
    ]);
    expect(await world.outbox('connection.needs_reauth')).toEqual([]);
    expect(provider.tokenRequests).toEqual([]);

    await mine.put(mine.own);
    await refreshNow(one!);
    await dropCaches();
    expect(await codeOf(callWith(one!))).toBe('opened');
  });

  test('can be connected again by its owner', async () => {
    const [one, two] = connections;
    await (await placeOfTokens(one!)).put((await placeOfTokens(two!)).own);
    const scopesRequest = { principal: browserOf(one!.orgId), id: one!.id, scopes: [], context };
    const { flowId } = await world.gateway.repairConnection(scopesRequest, testDeadline());
    // The provider gives no refresh token, so the earlier one would be kept if it could be
    // decrypted.
    provider.changeAnswer = (response) => {
      delete (response.body as Record<string, unknown>)['refresh_token'];
    };
    await finishFlow(one!.orgId, one!.provider, await beginFlow(one!.orgId, flowId));
    await dropCaches();
    expect(await codeOf(callWith(one!))).toBe('opened');
  });

  test('can be revoked, even when its org’s data key cannot be opened', async () => {
    const [, two, three] = connections;
    await (await placeOfTokens(two!)).put((await placeOfTokens(three!)).own);
    const [{ wrapped } = { wrapped: null }] = await world.sql<{ wrapped: Buffer }[]>`
      select wrapped from executor.data_key where org_id = ${three!.orgId}
    `;
    await world.sql`
      update executor.data_key set wrapped = ${Buffer.alloc(60)} where org_id = ${three!.orgId}
    `;
    await dropCaches();
    expect(await codeOf(callWith(three!))).toBe('unavailable');
    for (const { orgId, id } of [two!, three!]) {
      const principal = browserOf(orgId);
      await world.gateway.deleteConnection({ principal, id, context }, testDeadline());
    }
    expect((await stateOf(two!))[0]).toMatchObject({ status: 'revoked', sealed_tokens: null });
    await world.sql`
      update executor.data_key set wrapped = ${wrapped} where org_id = ${three!.orgId}
    `;
  });
});
