import type { Reply } from '../../support/http.ts';
import type { Person } from '../../support/people.ts';
import { sendRaw } from '../../support/raw.ts';
import type { RawRequest } from '../../support/raw.ts';
import { possessionSettings } from '../idor/possessions.ts';
import { createAgent, successfulBodyOf, startWorld } from '../../support/world.ts';
import type { Agent, World } from '../../support/world.ts';

/**
 * The people, agents and resources that the bad requests use. A call of `bot` waits for its
 * approval all the time.
 */
export interface Scene extends AsyncDisposable {
  readonly world: World;
  readonly url: string;
  readonly admin: Person;
  readonly member: Person;
  /** `bot` is an agent of the admin, and `other` an agent of the member. */
  readonly bot: Agent;
  readonly other: Agent;
  /** The admin of another org, whose agent has raised an approval. */
  readonly stranger: Person;
  readonly strangersApprovalId: string;
  /** The approval of the call by `bot` that waits for a decision. */
  readonly approval: { readonly approval_id: string; readonly permission_keys: string[] };
  /** Sends a request with the bot's key. Path and body are sent unchanged. */
  readonly sendRawRequest: (request: RawRequest) => Promise<Reply>;
}

export interface BadInput {
  /** The end of the test's name, after "it refuses". */
  readonly what: string;
  readonly send: (scene: Scene) => Promise<Reply>;
  readonly status: number;
  readonly error: string;
  /** A text that the answer must contain, so that a person or a program can correct the input. */
  readonly tells?: RegExp;
}

export const createIssue = (title: string) => ({
  service: 'github',
  action: 'create_issue',
  params: { repository: 'acme/site', title },
});

export async function setScene(): Promise<Scene> {
  await using startup = new AsyncDisposableStack();
  const world = startup.use(await startWorld(possessionSettings));
  const { url, admin, upstream, tables } = world;
  const { orgId } = admin;
  const member = await world.person({ orgId, name: 'mia', role: 'member' });
  const bot = await createAgent(url, admin, 'bot');
  const other = await createAgent(url, member, 'bot');
  successfulBodyOf(
    await admin.post('/v1/secrets', {
      name: 'github_token',
      value: 'CANARY-bad-input',
      tier: 'org',
      allowed_hosts: [upstream.host],
    }),
  );
  const service = { template: 'github', tier: 'org', base_url: upstream.url };
  successfulBodyOf(await admin.post('/v1/services', service));
  const approval = successfulBodyOf(await bot.post('/v1/actions/call', createIssue('Waits')));

  const strangersOrg = (await tables.query(
    `insert into auth.org (id, name) values (gen_random_uuid(), 'other') returning id`,
  )) as [{ id: string }];
  const stranger = await world.person({ orgId: strangersOrg[0].id, name: 'eve', role: 'admin' });
  const strangersBot = await createAgent(url, stranger, 'bot');
  const { approval_id: strangersApproval } = successfulBodyOf(
    await strangersBot.post('/v1/actions/call', {
      service: 'http',
      method: 'POST',
      url: `${upstream.url}/stranger`,
    }),
  );

  const running = startup.move();
  return {
    world,
    url,
    admin,
    member,
    bot,
    other,
    stranger,
    strangersApprovalId: strangersApproval,
    approval,
    sendRawRequest: (request) =>
      sendRaw(url, {
        ...request,
        headers: {
          authorization: `Bearer ${bot.key}`,
          'content-type': 'application/json',
          ...request.headers,
        },
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
