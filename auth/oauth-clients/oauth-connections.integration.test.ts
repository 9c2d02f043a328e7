import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Event } from '#contracts/events';
import type { OauthClient } from '#contracts/http/oauth-clients';
import type { Principal } from '#contracts/vocabulary';
import { createSigner } from '#signing';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const page = { limit: 50, cursor: null };

/** All tests share this component; each test creates its own org. */
let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function createCast() {
  const admin = await world.user({ name: 'root', role: 'admin' });
  const { orgId } = admin;
  const auditor = await world.user({ name: 'olga', role: 'auditor', orgId });
  const ann = await world.user({ name: 'ann', role: 'member', orgId });
  const bob = await world.user({ name: 'bob', role: 'member', orgId });
  const eve = await world.user({ name: 'eve', role: 'admin' });
  const bot = await world.agent(ann, 'bot');
  const other = await world.agent(ann, 'other');
  const sub = await world.subagent(bot, 'sub');
  const evesBot = await world.agent(eve, 'bot');
  return { admin, auditor, ann, bob, eve, bot, other, sub, evesBot };
}

/** Inserts a registered client that is bound to these agents. */
async function bindClient(agents: readonly Person[], id: string = randomUUID()): Promise<string> {
  await world.db`
    insert into auth.oauth_client (id, kind, name, software_id, redirect_uris)
    values (${id}, 'registered', 'Editor', 'editor-1',
            ${['http://127.0.0.1:0/callback', 'https://editor.example/cb', 'cursor://auth/cb']})
  `;
  for (const { orgId, id: agentId, claims } of agents) {
    await world.db`
      insert into auth.oauth_binding (org_id, user_id, client_id, agent_id)
      values (${orgId}, ${claims.userId}, ${id}, ${agentId})
    `;
  }
  return id;
}

/** Returns a principal whose credential is an access token of this OAuth client. */
const principalByClient = (
  agent: Person,
  clientId: string,
  change: Partial<Principal> = {},
): string =>
  createSigner<Principal>('principal', ...world.environment.keys.principal).sign({
    ...agent.claims,
    credential: { kind: 'access_token', id: randomUUID(), clientId },
    scopes: ['mcp'],
    expiresAt: Date.now() + 10_000,
    ...change,
  });

const list = ({ principal }: Person) =>
  world.client.listOauthClients({ principal, page }, testDeadline());
const revokeClient = ({ principal }: Person, clientId: string) =>
  world.client.revokeOauthClient({ principal, clientId, context }, testDeadline());
const listConnections = ({ principal }: Person, { id }: Person) =>
  world.client.listMcpConnections({ principal, id, page }, testDeadline());
const switchSelfApproval = (
  { principal }: Person,
  { id }: Person,
  clientId: string,
  enabled = true,
) =>
  world.client.updateMcpConnection(
    { principal, id, clientId, body: { self_approve_enabled: enabled }, context },
    testDeadline(),
  );
const unbindClient = ({ principal }: Person, { id }: Person, clientId: string) =>
  world.client.deleteMcpConnection({ principal, id, clientId, context }, testDeadline());
const mayApproveItself = async (principal: string) =>
  (await world.approvalsClient.getSelfApproval({ principal }, testDeadline())).enabled;
const listSelfApproving = async ({ orgId, id: identityId }: Person) =>
  (await world.approvalsClient.getChain({ orgId, identityId }, testDeadline())).selfApproving;
const errorWithCode = (code: string) => expect.objectContaining({ code });
const eventsOf = async (clientId: string): Promise<Event[]> => {
  const rows = await world.db<{ body: string }[]>`select body from auth.outbox order by id`;
  return rows
    .map(({ body }) => JSON.parse(body) as Event)
    .filter(({ data }) => data['client_id'] === clientId);
};

describe('OAuth clients of an org', () => {
  test('are listed for admins and auditors with their bindings, without the clients of other orgs', async () => {
    const { admin, auditor, ann, bob, eve, bot, evesBot } = await createCast();
    const clientId = await bindClient([bot, evesBot]);
    const unusedBinding = await bindClient([]);

    const { items } = await list(admin);
    expect(items).toEqual([
      {
        id: clientId,
        kind: 'registered',
        name: 'Editor',
        software_id: 'editor-1',
        redirect_hosts: ['127.0.0.1:0', 'editor.example', 'cursor:'],
        created_at: expect.stringMatching(/Z$/),
        last_used_at: null,
        revoked_at: null,
        bindings_count: 1,
        bindings: [
          {
            user: { id: ann.id, name: 'ann' },
            agent: { id: bot.id, name: 'bot' },
            self_approve_enabled: false,
            created_at: expect.stringMatching(/\.\d{3}Z$/),
            last_used_at: null,
          },
        ],
      } satisfies OauthClient,
    ]);
    expect(await list(auditor)).toEqual(await list(admin));
    expect((await list(eve)).items[0]?.bindings).toMatchObject([{ agent: { id: evesBot.id } }]);
    for (const other of [ann, bob, bot]) {
      await expect(list(other)).rejects.toEqual(errorWithCode('forbidden'));
    }
    await expect(revokeClient(admin, unusedBinding)).rejects.toEqual(errorWithCode('not_found'));
  });

  test('are listed in pages, and a forged cursor is refused', async () => {
    const { admin, bot } = await createCast();
    for (let i = 0; i < 5; i += 1) await bindClient([bot], `https://app.example/${randomUUID()}`);
    const seenIds: string[] = [];
    let cursor: string | null = null;
    do {
      const reply: { items: OauthClient[]; next_cursor: string | null } =
        await world.client.listOauthClients(
          { principal: admin.principal, page: { limit: 2, cursor } },
          testDeadline(),
        );
      seenIds.push(...reply.items.map(({ id }) => id));
      cursor = reply.next_cursor;
    } while (cursor !== null);
    expect(new Set(seenIds).size).toBe(5);

    for (const invalidCursor of ['x', Buffer.from('["\\u0000"]').toString('base64url')]) {
      const request = { principal: admin.principal, page: { limit: 2, cursor: invalidCursor } };
      await expect(world.client.listOauthClients(request, testDeadline())).rejects.toEqual(
        errorWithCode('invalid_request'),
      );
    }
  });

  test("can be revoked only by an admin, only for the admin's org, and with one event", async () => {
    const { admin, auditor, ann, eve, bot, evesBot } = await createCast();
    const clientId = await bindClient([bot, evesBot]);
    await switchSelfApproval(ann, bot, clientId);
    await switchSelfApproval(eve, evesBot, clientId);
    for (const other of [auditor, ann, bot]) {
      await expect(revokeClient(other, clientId)).rejects.toEqual(errorWithCode('forbidden'));
    }

    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => revokeClient(admin, clientId)),
    );

    expect(outcomes[0]).toMatchObject({ id: clientId, revoked_at: expect.any(String) });
    expect(await mayApproveItself(principalByClient(bot, clientId))).toBe(false);
    expect(await listSelfApproving(bot)).toEqual([]);
    expect((await listConnections(ann, bot)).items).toEqual([]);
    await expect(switchSelfApproval(ann, bot, clientId)).rejects.toEqual(
      errorWithCode('not_found'),
    );
    expect(await mayApproveItself(principalByClient(evesBot, clientId))).toBe(true);
    expect(await listSelfApproving(evesBot)).toEqual([
      { agentId: evesBot.id, clientIds: [clientId] },
    ]);
    expect((await list(eve)).items).toMatchObject([{ id: clientId, revoked_at: null }]);
    const events = (await eventsOf(clientId)).filter(({ type }) => type === 'oauth_client.revoked');
    expect(events).toMatchObject([
      {
        org_id: admin.orgId,
        audit: { description: `root shut the OAuth client Editor (${clientId}) out of the org.` },
      },
    ]);
  });

  test('are not found when only users of another org authorized them', async () => {
    const { admin, evesBot } = await createCast();
    const othersBinding = await bindClient([evesBot]);
    const revokeAndCatch = (id: string) => revokeClient(admin, id).catch((error: unknown) => error);

    expect(await revokeAndCatch(othersBinding)).toEqual(await revokeAndCatch(randomUUID()));
    expect(
      await world.db`
      select from auth.oauth_client_revocation where client_id = ${othersBinding}
    `,
    ).toHaveLength(0);
  });
});

describe("an agent's connections to OAuth clients", () => {
  test("are shown only to the agent's owner, and only the owner may switch self-approval on or off", async () => {
    const { admin, auditor, ann, bob, eve, bot, other, sub } = await createCast();
    const clientId = await bindClient([bot]);

    expect((await listConnections(ann, bot)).items).toEqual([
      {
        client_id: clientId,
        client_name: 'Editor',
        agent_id: bot.id,
        self_approve_enabled: false,
        created_at: expect.any(String),
        last_used_at: null,
      },
    ]);
    expect((await listConnections(ann, other)).items).toEqual([]);
    for (const other of [admin, auditor, bob, eve, bot, sub]) {
      await expect(listConnections(other, bot)).rejects.toEqual(errorWithCode('not_found'));
      await expect(switchSelfApproval(other, bot, clientId)).rejects.toEqual(
        errorWithCode('not_found'),
      );
      await expect(unbindClient(other, bot, clientId)).rejects.toEqual(errorWithCode('not_found'));
    }
    await expect(switchSelfApproval(ann, other, clientId)).rejects.toEqual(
      errorWithCode('not_found'),
    );
    await expect(switchSelfApproval(ann, sub, clientId)).rejects.toEqual(
      errorWithCode('not_found'),
    );
    expect(await mayApproveItself(principalByClient(bot, clientId))).toBe(false);
  });

  test('cause one event with an audit entry for each change of the self-approval switch', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    await Promise.all(Array.from({ length: 5 }, () => switchSelfApproval(ann, bot, clientId)));
    expect(await mayApproveItself(principalByClient(bot, clientId))).toBe(true);
    expect(await listSelfApproving(bot)).toEqual([{ agentId: bot.id, clientIds: [clientId] }]);
    expect(await switchSelfApproval(ann, bot, clientId, false)).toMatchObject({
      self_approve_enabled: false,
    });
    expect(await mayApproveItself(principalByClient(bot, clientId))).toBe(false);

    const data = { agent_id: bot.id, client_id: clientId, user_id: ann.id };
    expect(await eventsOf(clientId)).toMatchObject([
      {
        type: 'mcp_connection.changed',
        data: { ...data, self_approve_enabled: true },
        audit: { user_id: ann.id, description: expect.stringContaining('lets Editor decide') },
      },
      {
        type: 'mcp_connection.changed',
        data: { ...data, self_approve_enabled: false },
        audit: { description: expect.stringContaining('no longer lets Editor decide') },
      },
    ]);
  });

  test('allow self-approval only to the client for which it is switched on, and only while the client acts as this agent', async () => {
    const { ann, bot, other, sub } = await createCast();
    const [on, off] = [await bindClient([bot]), await bindClient([bot])];
    await switchSelfApproval(ann, bot, on);
    const key = { kind: 'agent_key', id: randomUUID(), clientId: null } as const;

    expect(await mayApproveItself(principalByClient(bot, on))).toBe(true);
    expect(await mayApproveItself(principalByClient(bot, off))).toBe(false);
    expect(await mayApproveItself(principalByClient(other, on))).toBe(false);
    expect(await mayApproveItself(principalByClient(sub, on))).toBe(false);
    expect(await mayApproveItself(principalByClient(ann, on))).toBe(false);
    expect(await mayApproveItself(bot.principal)).toBe(false);
    expect(await mayApproveItself(principalByClient(bot, on, { credential: key }))).toBe(false);
    expect(
      await mayApproveItself(principalByClient(bot, on, { credential: { ...key, clientId: on } })),
    ).toBe(false);
    expect(await listSelfApproving(sub)).toEqual([{ agentId: bot.id, clientIds: [on] }]);
    expect(await listSelfApproving(other)).toEqual([]);
  });

  test('are no longer listed after they were unbound, and no longer allow self-approval', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    await switchSelfApproval(ann, bot, clientId);
    await unbindClient(ann, bot, clientId);

    expect((await listConnections(ann, bot)).items).toEqual([]);
    expect(await mayApproveItself(principalByClient(bot, clientId))).toBe(false);
    await expect(unbindClient(ann, bot, clientId)).rejects.toEqual(errorWithCode('not_found'));
    expect((await eventsOf(clientId)).at(-1)).toMatchObject({
      type: 'mcp_connection.changed',
      data: { self_approve_enabled: false },
      audit: { description: expect.stringContaining('parted Editor from the agent') },
    });
  });

  test('are not passed from an archived agent to a new agent of the same name', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    await switchSelfApproval(ann, bot, clientId);
    await world.client.archiveIdentity(
      { principal: ann.principal, id: bot.id, context },
      testDeadline(),
    );
    const next = await world.agent(ann, 'bot');

    expect(await mayApproveItself(principalByClient(next, clientId))).toBe(false);
    expect(await listSelfApproving(next)).toEqual([]);
    expect((await listConnections(ann, next)).items).toEqual([]);
  });

  test('are shown to an owner who became an auditor, but this owner cannot change them', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    const signer = createSigner<Principal>('principal', ...world.environment.keys.principal);
    const auditor = { ...ann, principal: signer.sign({ ...ann.claims, role: 'auditor' }) };

    expect((await listConnections(auditor, bot)).items).toHaveLength(1);
    await expect(switchSelfApproval(auditor, bot, clientId)).rejects.toEqual(
      errorWithCode('forbidden'),
    );
    await expect(unbindClient(auditor, bot, clientId)).rejects.toEqual(errorWithCode('forbidden'));
  });
});
