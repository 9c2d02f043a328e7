import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Event } from '#contracts/events';
import type { OauthClient } from '#contracts/http/oauth-clients';
import type { Principal } from '#contracts/vocabulary';
import { createSigner } from '#signing';
import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

const page = { limit: 50, cursor: null };

/** One component for all tests: each makes an org of its own. */
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

/** A client that registered, bound to agents as their users consented. */
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

/** What an access token of the client resolves to. */
const byClient = (agent: Person, clientId: string, change: Partial<Principal> = {}): string =>
  createSigner<Principal>('principal', ...world.environment.keys.principal).sign({
    ...agent.claims,
    credential: { kind: 'access_token', id: randomUUID(), clientId },
    scopes: ['mcp'],
    expiresAt: Date.now() + 10_000,
    ...change,
  });

const list = ({ principal }: Person) => world.client.listOauthClients({ principal, page }, soon());
const shutOut = ({ principal }: Person, clientId: string) =>
  world.client.revokeOauthClient({ principal, clientId, context }, soon());
const connections = ({ principal }: Person, { id }: Person) =>
  world.client.listMcpConnections({ principal, id, page }, soon());
const turn = ({ principal }: Person, { id }: Person, clientId: string, enabled = true) =>
  world.client.updateMcpConnection(
    { principal, id, clientId, body: { self_approve_enabled: enabled }, context },
    soon(),
  );
const part = ({ principal }: Person, { id }: Person, clientId: string) =>
  world.client.deleteMcpConnection({ principal, id, clientId, context }, soon());
const isOn = async (principal: string) =>
  (await world.approvals.getSelfApproval({ principal }, soon())).enabled;
const selfApproving = async ({ orgId, id: identityId }: Person) =>
  (await world.approvals.getChain({ orgId, identityId }, soon())).selfApproving;
const refused = (code: string) => expect.objectContaining({ code });
const eventsOf = async (clientId: string): Promise<Event[]> => {
  const rows = await world.db<{ body: string }[]>`select body from auth.outbox order by id`;
  return rows
    .map(({ body }) => JSON.parse(body) as Event)
    .filter(({ data }) => data['client_id'] === clientId);
};

describe('OAuth clients of an org', () => {
  test('are shown to its admins and auditors, with who is bound, and nothing of other orgs', async () => {
    const { admin, auditor, ann, bob, eve, bot, evesBot } = await createCast();
    const clientId = await bindClient([bot, evesBot]);
    const unused = await bindClient([]);

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
    for (const nobody of [ann, bob, bot]) {
      await expect(list(nobody)).rejects.toEqual(refused('forbidden'));
    }
    await expect(shutOut(admin, unused)).rejects.toEqual(refused('not_found'));
  });

  test('go page by page', async () => {
    const { admin, bot } = await createCast();
    for (let i = 0; i < 5; i += 1) await bindClient([bot], `https://app.example/${randomUUID()}`);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const reply: { items: OauthClient[]; next_cursor: string | null } =
        await world.client.listOauthClients(
          { principal: admin.principal, page: { limit: 2, cursor } },
          soon(),
        );
      seen.push(...reply.items.map(({ id }) => id));
      cursor = reply.next_cursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(5);

    for (const bad of ['x', Buffer.from('["\\u0000"]').toString('base64url')]) {
      const asked = { principal: admin.principal, page: { limit: 2, cursor: bad } };
      await expect(world.client.listOauthClients(asked, soon())).rejects.toEqual(
        refused('invalid_request'),
      );
    }
  });

  test('are shut out by an admin of the org alone, once, and of that org alone', async () => {
    const { admin, auditor, ann, eve, bot, evesBot } = await createCast();
    const clientId = await bindClient([bot, evesBot]);
    await turn(ann, bot, clientId);
    await turn(eve, evesBot, clientId);
    for (const nobody of [auditor, ann, bot]) {
      await expect(shutOut(nobody, clientId)).rejects.toEqual(refused('forbidden'));
    }

    const outcomes = await Promise.all(Array.from({ length: 8 }, () => shutOut(admin, clientId)));

    expect(outcomes[0]).toMatchObject({ id: clientId, revoked_at: expect.any(String) });
    expect(await isOn(byClient(bot, clientId))).toBe(false);
    expect(await selfApproving(bot)).toEqual([]);
    expect((await connections(ann, bot)).items).toEqual([]);
    await expect(turn(ann, bot, clientId)).rejects.toEqual(refused('not_found'));
    expect(await isOn(byClient(evesBot, clientId))).toBe(true);
    expect(await selfApproving(evesBot)).toEqual([{ agentId: evesBot.id, clientIds: [clientId] }]);
    expect((await list(eve)).items).toMatchObject([{ id: clientId, revoked_at: null }]);
    const events = (await eventsOf(clientId)).filter(({ type }) => type === 'oauth_client.revoked');
    expect(events).toMatchObject([
      {
        org_id: admin.orgId,
        audit: { description: `root shut the OAuth client Editor (${clientId}) out of the org.` },
      },
    ]);
  });

  test("that only another org's users authorised are as good as none", async () => {
    const { admin, evesBot } = await createCast();
    const theirs = await bindClient([evesBot]);
    const failure = (id: string) => shutOut(admin, id).catch((error: unknown) => error);

    expect(await failure(theirs)).toEqual(await failure(randomUUID()));
    expect(
      await world.db`
      select from auth.oauth_client_revocation where client_id = ${theirs}
    `,
    ).toHaveLength(0);
  });
});

describe("an agent's connections", () => {
  test('are seen and switched by its owner, and by nobody else', async () => {
    const { admin, auditor, ann, bob, eve, bot, other, sub } = await createCast();
    const clientId = await bindClient([bot]);

    expect((await connections(ann, bot)).items).toEqual([
      {
        client_id: clientId,
        client_name: 'Editor',
        agent_id: bot.id,
        self_approve_enabled: false,
        created_at: expect.any(String),
        last_used_at: null,
      },
    ]);
    expect((await connections(ann, other)).items).toEqual([]);
    for (const nobody of [admin, auditor, bob, eve, bot, sub]) {
      await expect(connections(nobody, bot)).rejects.toEqual(refused('not_found'));
      await expect(turn(nobody, bot, clientId)).rejects.toEqual(refused('not_found'));
      await expect(part(nobody, bot, clientId)).rejects.toEqual(refused('not_found'));
    }
    await expect(turn(ann, other, clientId)).rejects.toEqual(refused('not_found'));
    await expect(turn(ann, sub, clientId)).rejects.toEqual(refused('not_found'));
    expect(await isOn(byClient(bot, clientId))).toBe(false);
  });

  test('switched on and off tell it once each, with an audit entry', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    await Promise.all(Array.from({ length: 5 }, () => turn(ann, bot, clientId)));
    expect(await isOn(byClient(bot, clientId))).toBe(true);
    expect(await selfApproving(bot)).toEqual([{ agentId: bot.id, clientIds: [clientId] }]);
    expect(await turn(ann, bot, clientId, false)).toMatchObject({ self_approve_enabled: false });
    expect(await isOn(byClient(bot, clientId))).toBe(false);

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

  test('the switch counts for that client acting as that agent, and for nothing else', async () => {
    const { ann, bot, other, sub } = await createCast();
    const [on, off] = [await bindClient([bot]), await bindClient([bot])];
    await turn(ann, bot, on);
    const key = { kind: 'agent_key', id: randomUUID(), clientId: null } as const;

    expect(await isOn(byClient(bot, on))).toBe(true);
    expect(await isOn(byClient(bot, off))).toBe(false);
    expect(await isOn(byClient(other, on))).toBe(false);
    expect(await isOn(byClient(sub, on))).toBe(false);
    expect(await isOn(byClient(ann, on))).toBe(false);
    expect(await isOn(bot.principal)).toBe(false);
    expect(await isOn(byClient(bot, on, { credential: key }))).toBe(false);
    expect(await isOn(byClient(bot, on, { credential: { ...key, clientId: on } }))).toBe(false);
    expect(await selfApproving(sub)).toEqual([{ agentId: bot.id, clientIds: [on] }]);
    expect(await selfApproving(other)).toEqual([]);
  });

  test('parted are gone, and a client bound anew begins without the switch', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    await turn(ann, bot, clientId);
    await part(ann, bot, clientId);

    expect((await connections(ann, bot)).items).toEqual([]);
    expect(await isOn(byClient(bot, clientId))).toBe(false);
    await expect(part(ann, bot, clientId)).rejects.toEqual(refused('not_found'));
    expect((await eventsOf(clientId)).at(-1)).toMatchObject({
      type: 'mcp_connection.changed',
      data: { self_approve_enabled: false },
      audit: { description: expect.stringContaining('parted Editor from the agent') },
    });
  });

  test('of an agent that was archived and made anew are not those of the new one', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    await turn(ann, bot, clientId);
    await world.client.archiveIdentity({ principal: ann.principal, id: bot.id, context }, soon());
    const next = await world.agent(ann, 'bot');

    expect(await isOn(byClient(next, clientId))).toBe(false);
    expect(await selfApproving(next)).toEqual([]);
    expect((await connections(ann, next)).items).toEqual([]);
  });

  test('of a user who has become an auditor are still shown to it, and changed no more', async () => {
    const { ann, bot } = await createCast();
    const clientId = await bindClient([bot]);
    const signer = createSigner<Principal>('principal', ...world.environment.keys.principal);
    const auditor = { ...ann, principal: signer.sign({ ...ann.claims, role: 'auditor' }) };

    expect((await connections(auditor, bot)).items).toHaveLength(1);
    await expect(turn(auditor, bot, clientId)).rejects.toEqual(refused('forbidden'));
    await expect(part(auditor, bot, clientId)).rejects.toEqual(refused('forbidden'));
  });
});
