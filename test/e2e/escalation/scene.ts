import { createCallerWithKey } from '../../support/http.ts';
import { signInClient } from '../../support/clients.ts';
import type { SignedInClient } from '../../support/clients.ts';
import type { Person } from '../../support/people.ts';
import { possessionSettings } from '../idor/possessions.ts';
import { createAgent, successfulBodyOf, startWorld } from '../../support/world.ts';
import type { Agent, World } from '../../support/world.ts';

/**
 * The identities and services of the tests: agents and subagents of the admin, an agent of another
 * person, and one API that several services call.
 */
export interface Scene extends AsyncDisposable {
  readonly world: World;
  /** A member of the admin's org. */
  readonly mia: Person;
  /** An agent of the admin, and an OAuth client that may act as this agent. */
  readonly bot: Agent;
  readonly client: SignedInClient;
  /** Another agent of the admin, and a subagent of that agent. */
  readonly twin: Agent;
  readonly nephew: Agent;
  /** A subagent that `bot` created, and a subagent that `child` created. */
  readonly child: Agent;
  readonly sibling: Agent;
  readonly grandchild: Agent;
  /** A subagent of `bot` that the admin created. */
  readonly placed: Agent;
  /** An agent of the member `mia`. */
  readonly theirs: Agent;
  /** Finds the id of one of an agent's keys. */
  readonly findKeyId: (agent: Agent) => Promise<string>;
  readonly agent: (name: string, ...rules: readonly string[]) => Promise<Agent>;
  readonly addRule: (agent: Agent, rule: string) => Promise<string>;
}

export async function setScene(): Promise<Scene> {
  const world = await startWorld({
    RATE_REGISTER_PER_HOUR: '0',
    ...possessionSettings,
    APPROVALS_OPEN_PER_REQUESTER: '1000',
    APPROVALS_OPEN_PER_SUBTREE: '1000',
    APPROVALS_RAISED_PER_HOUR: '0',
  });
  const { url, admin } = world;
  await connectNotes(world);
  const mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
  const bot = await createAgent(url, admin, 'bot');
  const twin = await createAgent(url, admin, 'twin');
  const child = await createChild(url, bot, { name: 'child' });
  const rule = async (agent: Agent, text: string): Promise<string> => {
    const [effect, pattern] = text.split(/ (.*)/s);
    const body = { identity_id: agent.id, effect, pattern };
    return successfulBodyOf(await admin.post('/v1/rules', body)).id;
  };
  return {
    world,
    mia,
    bot,
    client: await signInClient(world, bot),
    twin,
    nephew: await createChild(url, twin, { name: 'nephew' }),
    child,
    sibling: await createChild(url, bot, { name: 'sibling' }),
    grandchild: await createChild(url, child, { name: 'grandchild' }),
    placed: await createChild(url, admin, { name: 'placed', parent_id: bot.id }),
    theirs: await createAgent(url, mia, 'theirs'),
    findKeyId: async ({ id }) =>
      successfulBodyOf(await admin.get(`/v1/identities/${id}/keys`)).items[0].id as string,
    addRule: rule,
    async agent(name, ...rules) {
      const agent = await createAgent(url, admin, name);
      for (const text of rules) await rule(agent, text);
      return agent;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Creates a subagent and a key for it, both with the credentials of the parent. */
export async function createChild(
  url: string,
  maker: Pick<Person, 'post'>,
  fields: { name: string; parent_id?: string; inherit_permissions?: boolean },
): Promise<Agent> {
  const { id } = successfulBodyOf(await maker.post('/v1/identities/subagents', fields));
  const { key } = successfulBodyOf(await maker.post(`/v1/identities/${id}/keys`, { name: 'test' }));
  return { id, key, ...createCallerWithKey(url, key) };
}

/**
 * A template with one read and one write of a topic; the topic is the argument in their permission
 * keys.
 */
const notesDocument = (key: string, server: string) => `openapi: 3.1.0
info: { title: Notes ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /notes/{topic}:
    parameters: [{ name: topic, in: path, required: true, schema: { type: string } }]
    get: { operationId: read_note, summary: 'Read {topic}', scope_param: topic }
    post: { operationId: write_note, summary: 'Write {topic}', scope_param: topic }
`;

/** A template that sends a letter to several recipients, and searches for one recipient. */
const lettersDocument = (server: string) => `openapi: 3.1.0
info: { title: Letters, key: letters, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /letters:
    get:
      operationId: find_letters
      summary: 'Find letters[ to {to}]'
      scope_param: to
      parameters: [{ name: to, in: query, schema: { type: string } }]
    post:
      operationId: send_letter
      summary: 'Send a letter'
      scope_param: to
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [to]
              properties: { to: { type: array, items: { type: string } } }
`;

/** A template whose only operation accepts any object as its body. */
const anyBodyDocument = (server: string) => `openapi: 3.1.0
info: { title: Free, key: free, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /free:
    post:
      operationId: put_any
      summary: 'Put anything'
      requestBody:
        required: true
        content: { application/json: { schema: { type: object, additionalProperties: true } } }
`;

/** A template with one write that uses the org's secret. */
const vaultDocument = (server: string) => `openapi: 3.1.0
info: { title: Vault, key: vault, category: Testing }
servers: [{ url: '${server}' }]
components:
  securitySchemes:
    token: { type: apiKey, in: header, name: X-Token, default_secret_name: sealed }
security: [{ token: [] }]
paths:
  /vault/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    post: { operationId: open_one, summary: 'Open {id}', scope_param: id }
`;

/**
 * A template with two operations: one writes below `/{key}`; the body of the other (`multiplex`)
 * contains operations itself.
 */
const multiplexDocument = (key: string, server: string) => `openapi: 3.1.0
info: { title: Beside ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /${key}/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    post: { operationId: write_one, summary: 'Write {id}', scope_param: id }
  /${key}/graphql/any:
    post: { operationId: query, summary: 'Query', multiplex: true }
`;

/** A template with one write, at `/memos/{id}`. */
const memosDocument = (key: string, server: string) => `openapi: 3.1.0
info: { title: Memos ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /memos/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    post: { operationId: write_memo, summary: 'Write {id}', scope_param: id }
`;

async function publishTemplate(
  { admin }: World,
  {
    key,
    server,
    tier,
    openapi = notesDocument(key, server),
  }: { key: string; server: string; tier: 'user' | 'org'; openapi?: string },
): Promise<void> {
  successfulBodyOf(await admin.post('/v1/templates', { openapi, tier }));
  successfulBodyOf(await admin.post(`/v1/templates/${key}/publish?tier=${tier}`, { version: 1 }));
}

/**
 * Connects the notes API in several ways: one template under two service names and as a service of
 * the org, a template with another key, and a template of the user with the same key.
 */
async function connectNotes(world: World): Promise<void> {
  const { admin, upstream } = world;
  const connectService = async (body: object) =>
    successfulBodyOf(await admin.post('/v1/services', body));
  await publishTemplate(world, { key: 'notes', server: upstream.url, tier: 'org' });
  await connectService({ template: 'notes' });
  await connectService({ template: 'notes', name: 'second' });
  await connectService({ template: 'notes', name: 'shared', tier: 'org' });
  await publishTemplate(world, { key: 'shadow', server: upstream.url, tier: 'user' });
  await connectService({ template: 'shadow' });
  await publishTemplate(world, { key: 'notes', server: upstream.url, tier: 'user' });
  await connectService({ template: 'notes', name: 'again' });
  const server = upstream.url;
  const letters = { key: 'letters', server, openapi: lettersDocument(server) };
  await publishTemplate(world, { ...letters, tier: 'org' });
  await connectService({ template: 'letters' });
  for (const [key, tier] of [
    ['cards', 'org'],
    ['diary', 'user'],
  ] as const) {
    await publishTemplate(world, { key, server, tier, openapi: multiplexDocument(key, server) });
    await connectService({ template: key });
  }
  await publishTemplate(world, {
    key: 'free',
    server,
    tier: 'org',
    openapi: anyBodyDocument(server),
  });
  await connectService({ template: 'free' });
  const value = 'CANARY-escalation';
  const allowed_hosts = [upstream.host];
  successfulBodyOf(
    await admin.post('/v1/secrets', { name: 'sealed', tier: 'org', value, allowed_hosts }),
  );
  await publishTemplate(world, {
    key: 'vault',
    server,
    tier: 'org',
    openapi: vaultDocument(server),
  });
  await connectService({ template: 'vault', credentials: { secrets: { token: 'org/sealed' } } });
  // Many upstreams treat these paths as one path.
  for (const [key, path] of [
    ['memos', '/api'],
    ['pages', '/API'],
  ] as const) {
    const openapi = memosDocument(key, server + path);
    await publishTemplate(world, { key, server, tier: 'org', openapi });
    await connectService({ template: key });
  }
  await publishTemplate(world, { key: 'books', server: 'https://bücher.example', tier: 'org' });
  await connectService({ template: 'books' });
}

export const write = (topic: string, service = 'notes') => ({
  service,
  action: 'write_note',
  params: { topic },
});
