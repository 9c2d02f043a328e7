import { withKey } from '../../support/http.ts';
import { signInClient } from '../support/clients.ts';
import type { SignedInClient } from '../support/clients.ts';
import type { Person } from '../support/people.ts';
import { possessionSettings } from '../idor/possessions.ts';
import { createAgent, created, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/** A family of agents of the admin, an agent of somebody else, and one API under many names. */
export interface Scene extends AsyncDisposable {
  readonly world: World;
  /** Colleague of the admin, a member. */
  readonly mia: Person;
  /** An agent of the admin, with a client that acts as it. */
  readonly bot: Agent;
  readonly client: SignedInClient;
  /** Another agent of the admin, and its subagent. */
  readonly twin: Agent;
  readonly nephew: Agent;
  /** Made by the bot below itself; the grandchild by the child. */
  readonly child: Agent;
  readonly sibling: Agent;
  readonly grandchild: Agent;
  /** Made by the admin below the bot. */
  readonly placed: Agent;
  /** An agent of the colleague. */
  readonly theirs: Agent;
  /** Id of a key of each of them. */
  readonly keyOf: (agent: Agent) => Promise<string>;
  readonly agent: (name: string, ...rules: readonly string[]) => Promise<Agent>;
  readonly rule: (agent: Agent, rule: string) => Promise<string>;
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
    return created(await admin.post('/v1/rules', body)).id;
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
    keyOf: async ({ id }) =>
      created(await admin.get(`/v1/identities/${id}/keys`)).items[0].id as string,
    rule,
    async agent(name, ...rules) {
      const agent = await createAgent(url, admin, name);
      for (const text of rules) await rule(agent, text);
      return agent;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** A subagent, with a key that whoever made it has made. */
export async function createChild(
  url: string,
  maker: Pick<Person, 'post'>,
  fields: { name: string; parent_id?: string; inherit_permissions?: boolean },
): Promise<Agent> {
  const { id } = created(await maker.post('/v1/identities/subagents', fields));
  const { key } = created(await maker.post(`/v1/identities/${id}/keys`, { name: 'test' }));
  return { id, key, ...withKey(url, key) };
}

/** One read and one write of a topic, which is the argument of their keys. */
const notesDocument = (key: string, server: string) => `openapi: 3.1.0
info: { title: Notes ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /notes/{topic}:
    parameters: [{ name: topic, in: path, required: true, schema: { type: string } }]
    get: { operationId: read_note, summary: 'Read {topic}', scope_param: topic }
    post: { operationId: write_note, summary: 'Write {topic}', scope_param: topic }
`;

/** A letter to several, and the search for one of them. */
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

/** Takes any object. */
const freeDocument = (server: string) => `openapi: 3.1.0
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

/** One write with the org's secret. */
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

/** One operation of its own below \`/{key}\`, and one that carries others. */
const besideDocument = (key: string, server: string) => `openapi: 3.1.0
info: { title: Beside ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /${key}/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    post: { operationId: write_one, summary: 'Write {id}', scope_param: id }
  /${key}/graphql/any:
    post: { operationId: query, summary: 'Query', multiplex: true }
`;

/** One write below a path. */
const memosDocument = (key: string, server: string) => `openapi: 3.1.0
info: { title: Memos ${key}, key: ${key}, category: Testing }
servers: [{ url: '${server}' }]
paths:
  /memos/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    post: { operationId: write_memo, summary: 'Write {id}', scope_param: id }
`;

async function publish(
  { admin }: World,
  {
    key,
    server,
    tier,
    openapi = notesDocument(key, server),
  }: { key: string; server: string; tier: 'user' | 'org'; openapi?: string },
): Promise<void> {
  created(await admin.post('/v1/templates', { openapi, tier }));
  created(await admin.post(`/v1/templates/${key}/publish?tier=${tier}`, { version: 1 }));
}

/** The template under two names and as the org's, one of another key, and one of the same. */
async function connectNotes(world: World): Promise<void> {
  const { admin, upstream } = world;
  const connect = async (body: object) => created(await admin.post('/v1/services', body));
  await publish(world, { key: 'notes', server: upstream.url, tier: 'org' });
  await connect({ template: 'notes' });
  await connect({ template: 'notes', name: 'second' });
  await connect({ template: 'notes', name: 'shared', tier: 'org' });
  await publish(world, { key: 'shadow', server: upstream.url, tier: 'user' });
  await connect({ template: 'shadow' });
  await publish(world, { key: 'notes', server: upstream.url, tier: 'user' });
  await connect({ template: 'notes', name: 'again' });
  const server = upstream.url;
  const letters = { key: 'letters', server, openapi: lettersDocument(server) };
  await publish(world, { ...letters, tier: 'org' });
  await connect({ template: 'letters' });
  for (const [key, tier] of [
    ['cards', 'org'],
    ['diary', 'user'],
  ] as const) {
    await publish(world, { key, server, tier, openapi: besideDocument(key, server) });
    await connect({ template: key });
  }
  await publish(world, { key: 'free', server, tier: 'org', openapi: freeDocument(server) });
  await connect({ template: 'free' });
  const value = 'CANARY-escalation';
  const allowed_hosts = [upstream.host];
  created(await admin.post('/v1/secrets', { name: 'sealed', tier: 'org', value, allowed_hosts }));
  await publish(world, { key: 'vault', server, tier: 'org', openapi: vaultDocument(server) });
  await connect({ template: 'vault', credentials: { secrets: { token: 'org/sealed' } } });
  // To many servers, the same path.
  for (const [key, path] of [
    ['memos', '/api'],
    ['pages', '/API'],
  ] as const) {
    const openapi = memosDocument(key, server + path);
    await publish(world, { key, server, tier: 'org', openapi });
    await connect({ template: key });
  }
  await publish(world, { key: 'books', server: 'https://bücher.example', tier: 'org' });
  await connect({ template: 'books' });
}

export const write = (topic: string, service = 'notes') => ({
  service,
  action: 'write_note',
  params: { topic },
});
