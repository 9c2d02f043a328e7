import { launch } from '../../launch.ts';
import { createSampleTools, mcpTemplate, startMcpServer } from '../support/mcp-server.ts';
import type { TestMcpServer } from '../support/mcp-server.ts';
import { createAuthorizationRequest } from '../support/oauth-world.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import { choosePassword } from '../support/people.ts';
import { templateWithTwoWays } from '../support/template.ts';
import { createAgent, pollUntil, successfulBodyOf } from '../support/world.ts';

export type Person = Caller & { readonly cookie: string };

/**
 * A running gateway with the data of a small company. Everything that a page can show exists at
 * least once.
 */
export interface Scene extends AsyncDisposable {
  readonly url: string;
  readonly admin: Person;
  /** A member with agents, services and approvals. */
  readonly mia: Person;
  /** A member who has only just been invited. */
  readonly newcomer: Person;
  readonly auditor: Person;
  /** A sign-in link that has already been used. */
  readonly spentLink: string;
  /** A person who has not chosen a password yet. */
  readonly withoutPassword: Person;
  readonly approvals: Readonly<
    Record<'medium' | 'high' | 'remembered' | 'failed' | 'denied', string>
  >;
  readonly agentId: string;
  /** Paths of pages that people open through a link. */
  readonly paths: Readonly<Record<'request' | 'provide' | 'connect' | 'consent', string>>;
}

const password = 'CANARY-a-good-password';

export async function setScene(dataDir: string): Promise<Scene> {
  await using startup = new AsyncDisposableStack();
  const provider = startup.use(await startTestProvider('acme'));
  provider.account = { sub: 'account-1', email: 'mia@acme.example' };
  const server = startup.use(await startMcpServer('stateless', createSampleTools()));
  const gateway = startup.use(
    await launch(
      {
        LOG_LEVEL: 'silent',
        PORT: '0',
        EGRESS_ALLOW: [provider.host, server.host].join(),
      },
      { dataDir, durable: false },
    ),
  );
  const { url } = gateway;
  const spentLink = gateway.firstSignInUrl ?? '';
  const admin = await signIn(spentLink);
  successfulBodyOf(await admin.patch('/v1/profile', { display_name: 'Olga Admin' }));
  const invite = async (name: string, role: 'member' | 'auditor', displayName: string) => {
    const account = { email: `${name}@acme.example`, password };
    const invitation = { email: account.email, role };
    const { url: link } = successfulBodyOf(await admin.post('/v1/users/invitations', invitation));
    const person = await signIn(link);
    successfulBodyOf(await person.patch('/v1/profile', { display_name: displayName }));
    return { person, account };
  };
  const { person: mia, account } = await invite('mia', 'member', 'Mia Berg');
  await choosePassword(url, mia, account);
  const { person: newcomer } = await invite('noah', 'member', 'Noah Lund');
  const { person: withoutPassword } = await invite('pia', 'member', 'Pia Holm');
  const { person: auditor } = await invite('ida', 'auditor', 'Ida Falk');
  for (const person of [mia, auditor, admin]) {
    successfulBodyOf(await person.patch('/v1/profile', { checklist: 'dismissed' }));
  }

  await connectForOrg(admin, { provider: provider.issuer, server });
  await connectForMia(mia);
  await publishNewerVersion(admin, provider.issuer);
  const webhook = { url: 'https://hooks.acme.example/gateway', description: 'On-call channel' };
  successfulBodyOf(await admin.post('/v1/webhooks', webhook));
  const bot = await createAgent(url, mia, 'deploy-bot');
  const scout = await createAgent(url, mia, 'support-scout');
  await createAgent(url, admin, 'report-writer');
  successfulBodyOf(await bot.post('/v1/identities/subagents', { name: 'reviewer' }));
  const decided = await createDecidedApprovals(mia, bot);
  const open = await createOpenItems(bot, scout);

  const running = startup.move();
  return {
    url,
    admin,
    mia,
    newcomer,
    auditor,
    withoutPassword,
    spentLink,
    approvals: { ...decided, ...open },
    agentId: bot.id,
    paths: { ...(await requestThings(bot)), consent: await registerClient(url, admin) },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function connectForOrg(
  admin: Caller,
  { provider, server }: { provider: string; server: TestMcpServer },
): Promise<void> {
  successfulBodyOf(
    await admin.put('/v1/oauth-apps/mock', {
      client_id: 'gateway',
      client_secret: 'CANARY-client-secret',
      definition: { title: 'Acme ID', issuer: provider, hosts: ['notes.acme.example'] },
    }),
  );
  await publish(admin, 'notes', notesTemplate(provider));
  await publish(admin, 'minutes', minutesTemplate(provider));
  const tracker = mcpTemplate('issues', server.url).replace('title: Issues', 'title: Tracker');
  await publish(admin, 'issues', tracker);
  successfulBodyOf(await admin.post('/v1/services', { template: 'issues', tier: 'org' }));
  await changeTool(admin, server);
  const stripe = {
    name: 'stripe_key',
    value: 'CANARY-stripe',
    tier: 'org',
    allowed_hosts: ['api.stripe.com'],
  };
  successfulBodyOf(await admin.post('/v1/secrets', stripe));
  successfulBodyOf(await admin.post('/v1/services', { template: 'stripe', tier: 'org' }));
}

async function publish(admin: Caller, key: string, openapi: string): Promise<void> {
  successfulBodyOf(await admin.post('/v1/templates', { openapi, tier: 'org' }));
  successfulBodyOf(await admin.post(`/v1/templates/${key}/publish?tier=org`, { version: 1 }));
}

const notesTemplate = (provider: string) =>
  templateWithTwoWays({ server: 'https://notes.acme.example', issuer: provider });

const minutesTemplate = (provider: string) =>
  notesTemplate(provider)
    .replace('title: Notes, key: notes', 'title: Minutes, key: minutes')
    .replace('default_secret_name: notes_token', 'default_secret_name: minutes_token');

/** Publishes version 2 of the template. The connected service stays at version 1. */
async function publishNewerVersion(admin: Caller, provider: string): Promise<void> {
  const openapi = minutesTemplate(provider)
    .replace(/ {4}delete: .*\n/, '')
    .replace('Write note {title}', 'Write the note {title}');
  const path = '/v1/templates/minutes';
  successfulBodyOf(await admin.put(`${path}?tier=org`, { openapi, version: 1 }));
  successfulBodyOf(await admin.post(`${path}/publish?tier=org`, { version: 2 }));
}

/**
 * Changes the description of a tool. From then on the gateway refuses to call the tool until an
 * admin accepts the change.
 */
async function changeTool(admin: Caller, server: TestMcpServer): Promise<void> {
  const at = server.tools.findIndex(({ name }) => name === 'list_issues');
  const tool = server.tools[at];
  if (tool === undefined) throw new Error('the server has no tool list_issues');
  server.tools[at] = { ...tool, description: 'Lists the issues, closed ones too.' };
  successfulBodyOf(await admin.post('/v1/services/org%2Fissues/discover'));
}

async function connectForMia(mia: Caller): Promise<void> {
  const secrets = [
    { name: 'sample_key', value: 'nb_CANARY-sample-key-0001' },
    { name: 'github_token', value: 'CANARY-github', allowed_hosts: ['api.github.com'] },
    {
      name: 'minutes_token',
      value: 'CANARY-minutes',
      allowed_hosts: ['notes.acme.example'],
    },
    { name: 'slack_token', value: 'CANARY-slack', allowed_hosts: ['slack.com'] },
  ];
  for (const secret of secrets) successfulBodyOf(await mia.post('/v1/secrets', secret));
  const lost = { name: 'resend_key', value: 'CANARY-resend', allowed_hosts: ['api.resend.com'] };
  const { id } = successfulBodyOf(await mia.post('/v1/secrets', lost));
  for (const template of ['sample', 'github', 'slack', 'resend']) {
    successfulBodyOf(await mia.post('/v1/services', { template }));
  }
  const minutes = { template: 'minutes', credentials: { secrets: { token: 'minutes_token' } } };
  successfulBodyOf(await mia.post('/v1/services', minutes));
  successfulBodyOf(await mia.delete(`/v1/secrets/${id}`));
}

/** Creates past calls: calls that a person allowed or denied, and one that failed. */
async function createDecidedApprovals(mia: Caller, bot: Caller) {
  const decide = async (call: Call, decision: object) => {
    const { approval_id: id, suggested_tiers: tiers } = await ask(bot, call);
    const remembered = 'ttl' in decision ? { remember_keys: tiers[0].keys } : {};
    const body = { ...decision, ...remembered };
    successfulBodyOf(await mia.post(`/v1/approvals/${id}/resolve`, body));
    return id as string;
  };
  const pin = (text: string) => callOf('sample', 'pin_note', { board: 'releases', text });
  const remembered = await decide(pin('Release 2.4 is out'), {
    resolution: 'allow_remember',
    ttl: '24h',
  });
  await untilFinished(mia, remembered);
  successfulBodyOf(await bot.post('/v1/actions/call', pin('Release 2.4.1 is out')));
  const denied = await decide(
    callOf('slack', 'post_message', { channel: 'C0ALLHANDS', text: 'We are hiring!' }),
    { resolution: 'deny', reason: 'Ask Pia about the wording first.' },
  );
  const failed = await decide(
    callOf('sample', 'edit_note', { id: 41, text: 'Kitchen is closed' }),
    {
      resolution: 'allow',
    },
  );
  await untilFinished(mia, failed);
  return { remembered, denied, failed };
}

/** Creates what waits for a person. */
async function createOpenItems(bot: Caller, scout: Caller) {
  const issues = ['Checkout fails on Safari 18', 'Prices show no currency', 'Search is slow'];
  for (const title of issues) {
    const body = 'Three customers wrote about it today. Steps are in the ticket.';
    await ask(bot, callOf('github', 'create_issue', { repository: 'acme/shop', title, body }));
  }
  await ask(
    bot,
    callOf('github', 'create_comment', {
      repository: 'acme/site',
      issue_number: 7,
      body: 'Fixed in the last release.',
    }),
  );
  await ask(bot, callOf('github', 'delete_label', { repository: 'acme/site', name: 'p1' }));
  await ask(
    scout,
    callOf('slack', 'post_message', {
      channel: 'C0SUPPORT',
      text: 'Checkout is slow for some customers. We are looking into it.',
    }),
  );
  const high = await ask(bot, callOf('sample', 'remove_note', { id: 1 }));
  const medium = await ask(
    bot,
    callOf('github', 'merge_pull_request', {
      repository: 'acme/site',
      pull_number: 12,
      merge_method: 'squash',
    }),
  );
  return { high: high.approval_id as string, medium: medium.approval_id as string };
}

async function requestThings(bot: Caller) {
  const request = successfulBodyOf(
    await bot.post('/v1/requests', {
      kind: 'service',
      template: 'notes',
      reason: 'To file the minutes of the weekly meeting.',
      actions: ['list_notes', 'create_note'],
    }),
  );
  const secret = successfulBodyOf(
    await bot.post('/v1/secrets/requests', {
      name: 'linear_token',
      reason: 'To move tickets when a release is out.',
      allowed_hosts: ['api.linear.app'],
    }),
  );
  const connection = successfulBodyOf(
    await bot.post('/v1/connections', { provider: 'mock', scopes: ['read'], name: 'acme_notes' }),
  );
  const pathOf = (link: string) => new URL(link).pathname + new URL(link).search;
  return {
    request: pathOf(request.url),
    provide: pathOf(secret.provide_url),
    connect: pathOf(connection.authorization_url),
  };
}

/** Registers an MCP client that asks for access by OAuth. Returns the path of its consent page. */
async function registerClient(url: string, admin: Caller): Promise<string> {
  const redirectUri = 'http://127.0.0.1/callback';
  const registration = { redirect_uris: [redirectUri], client_name: 'Acme Editor' };
  const { client_id: clientId } = successfulBodyOf(
    await admin.post('/oauth/register', registration),
  );
  const parameters = { client_id: clientId, redirect_uri: redirectUri, prompt: 'consent' };
  const { pathname, search } = new URL(createAuthorizationRequest(url, parameters).url);
  return pathname + search;
}

interface Call {
  readonly service: string;
  readonly action: string;
  readonly params: object;
}

const callOf = (service: string, action: string, params: object): Call => ({
  service,
  action,
  params,
});

async function ask(agent: Caller, call: Call) {
  const answer = successfulBodyOf(await agent.post('/v1/actions/call', call));
  if (answer.status !== 'pending_approval') throw new Error(JSON.stringify(answer));
  return answer;
}

const untilFinished = (mia: Caller, approvalId: string) =>
  pollUntil(async () => {
    const { body } = await mia.get(`/v1/approvals/${approvalId}`);
    return ['executed', 'failed'].includes(body.execution?.status);
  }, 'the result of the call');
