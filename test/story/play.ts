import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { signIn, withKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { GithubMock, UpstreamHit } from './github-mock.ts';
import type { Receiver } from './receiver.ts';

export interface Stage {
  readonly signInUrl: string;
  readonly github: GithubMock;
  readonly receiver: Receiver;
  /** Tells one step in one line. */
  readonly say: (line: string) => void;
}

/**
 * The main job from end to end, over nothing but public HTTP: an agent calls an action it has
 * no rule for, the call suspends, its user allows it, it is replayed with the vault's
 * credential, the agent gets the result, and webhook, SSE and audit log tell the story.
 * Throws at the first step that differs.
 */
export async function playStory({ signInUrl, github, receiver, say }: Stage): Promise<void> {
  const { origin } = new URL(signInUrl);
  const credential = `CANARY-${randomUUID()}`;

  const user = await signIn(signInUrl);
  const me = await ok(user.get('/v1/identities/me'));
  say(`signed in as ${me.name} (${me.role}) of org ${me.org.name}, user ${me.id}`);

  const agent = await ok(user.post('/v1/identities/agents', { name: 'deploy-bot' }), 201);
  const key = await ok(user.post(`/v1/identities/${agent.id}/keys`, { name: 'demo' }), 201);
  const bot = withKey(origin, key.key);
  say(`created agent ${agent.path.join('/')} ${agent.id} with key ${key.hint}…`);

  const secret = await ok(
    user.post('/v1/secrets', {
      name: 'github_token',
      value: credential,
      tier: 'org',
      allowed_hosts: [new URL(github.url).host],
    }),
    201,
  );
  say(`stored secret ${secret.name} version ${secret.version}, for ${secret.allowed_hosts} only`);

  const service = await ok(
    user.post('/v1/services', { template: 'github', tier: 'org', base_url: github.url }),
    201,
  );
  say(`connected ${service.name} (${service.actions_count} actions) to ${service.base_url}`);

  const webhook = await ok(user.post('/v1/webhooks', { url: receiver.url }), 201);
  receiver.secret = webhook.secret;
  await until(async () => (await ok(user.get(`/v1/webhooks/${webhook.id}`))).status === 'active');
  say(`subscribed webhook ${webhook.id}; its endpoint answered the handshake`);
  await using feed = await openFeed(origin, user.cookie);

  await readNeedsNoRule(bot, github, say, credential);
  const first = await suspend(bot, say, 'The build is red');
  await feed.until('approval.raised', first.approval_id);
  say(`the dashboard heard of it by SSE`);

  const resolved = await ok(
    user.post(`/v1/approvals/${first.approval_id}/resolve`, { resolution: 'allow' }),
  );
  assert.equal(resolved.status, 'allowed');
  say(`${me.name} allowed approval ${first.approval_id} once; execution ${resolved.execution.id}`);
  const replayed = await resumeUntilCalled(bot, first.approval_id);
  assert.equal(replayed.result.status_code, 201);
  const posts = github.hits.filter(({ method }) => method === 'POST');
  assert.equal(posts.length, 1, 'the upstream got the POST exactly once');
  checkPost(posts[0], credential, 'The build is red');
  say(
    `replayed with the vault's credential: GitHub answered 201, the agent has issue #${replayed.result.body.number}`,
  );

  await until(async () => receiver.delivered.some(({ type }) => type === 'execution.finished'));
  const told = receiver.delivered.filter(
    ({ data }) => (data.approval_id ?? data.id) === first.approval_id,
  );
  assert.deepEqual(told.map(({ type }) => type).toSorted(), [
    'approval.raised',
    'approval.resolved',
    'execution.finished',
  ]);
  assert.deepEqual(receiver.refused, []);
  say(`the webhook got ${told.map(({ type }) => type).join(', ')}, each signature verified`);

  await remember(user, bot, { github, say });
  await deny(user, bot, { github, say });
  await tellFromAudit(user, { say, credential, approvalId: first.approval_id });
}

async function readNeedsNoRule(
  bot: Caller,
  github: GithubMock,
  say: Stage['say'],
  credential: string,
): Promise<void> {
  const read = await ok(
    bot.post('/v1/actions/call', {
      service: 'github',
      action: 'list_issues',
      params: { repository: 'acme/site', state: 'open' },
      filter: '[.[] | .title]',
    }),
  );
  assert.equal(read.status, 'called');
  assert.equal(read.result.status_code, 200);
  assert.equal(github.hits.at(-1)?.authorization, `Bearer ${credential}`);
  say(
    `read: ${read.action_description} → ${JSON.stringify(read.result.filtered_body)}, audit ${read.audit_id}`,
  );
}

const issue = (title: string) => ({
  service: 'github',
  action: 'create_issue',
  params: { repository: 'acme/site', title, body: 'Found by the nightly run.' },
});

async function suspend(bot: Caller, say: Stage['say'], title: string) {
  const check = await ok(bot.post('/v1/actions/validate', issue(title)));
  assert.equal(check.outcome, 'would_require_approval');
  const envelope = await ok(bot.post('/v1/actions/call', issue(title)), 202);
  assert.equal(envelope.status, 'pending_approval');
  assert.deepEqual(envelope.permission_keys, ['github:create_issue:acme/site'].map(orgKey));
  say(`write: ${envelope.action_description} → suspended, approval ${envelope.approval_id}`);
  return envelope;
}

/** The org's service is `org/github` in keys. */
const orgKey = (key: string) => `org/${key}`;

async function resumeUntilCalled(bot: Caller, approvalId: string) {
  let answer: any; // eslint-disable-line typescript/no-explicit-any -- looked at field by field
  await until(async () => {
    const reply = await bot.post('/v1/actions/call', { approval_id: approvalId });
    answer = reply.body;
    return reply.status === 200 && answer.status === 'called';
  });
  return answer;
}

function checkPost(hit: UpstreamHit | undefined, credential: string, title: string): void {
  assert.equal(hit?.url, '/repos/acme/site/issues');
  assert.equal(hit?.authorization, `Bearer ${credential}`);
  assert.equal(JSON.parse(hit?.body ?? '{}').title, title);
  assert.equal(hit?.status, 201);
}

async function remember(
  user: Caller,
  bot: Caller,
  { github, say }: Pick<Stage, 'github' | 'say'>,
): Promise<void> {
  const title = 'Remember me';
  const envelope = await suspend(bot, say, title);
  const resolved = await ok(
    user.post(`/v1/approvals/${envelope.approval_id}/resolve`, {
      resolution: 'allow_remember',
      remember_keys: envelope.suggested_tiers[0].keys,
      ttl: '24h',
    }),
  );
  await resumeUntilCalled(bot, envelope.approval_id);
  const before = github.hits.length;
  const direct = await ok(bot.post('/v1/actions/call', issue('No need to ask')));
  assert.equal(direct.status, 'called');
  assert.equal(github.hits.length, before + 1);
  const { items } = await ok(user.get('/v1/rules'));
  const rule = items.find((each: { approval_id: string }) => each.approval_id === resolved.id);
  assert.equal(rule.pattern, envelope.permission_keys[0]);
  say(
    `allowed and remembered for 24 h: rule ${rule.id} on ${resolved.placement.name}; the next call went straight through`,
  );
}

async function deny(
  user: Caller,
  bot: Caller,
  { github, say }: Pick<Stage, 'github' | 'say'>,
): Promise<void> {
  const before = github.hits.length;
  const call = {
    service: 'github',
    action: 'update_issue',
    params: { repository: 'acme/site', issue_number: 7, state: 'closed' },
  };
  const envelope = await ok(bot.post('/v1/actions/call', call), 202);
  const reason = 'Close it in the meeting instead.';
  await ok(
    user.post(`/v1/approvals/${envelope.approval_id}/resolve`, { resolution: 'deny', reason }),
  );
  const denied = await ok(bot.post('/v1/actions/call', { approval_id: envelope.approval_id }));
  assert.equal(denied.status, 'denied');
  assert.equal(denied.reason, reason);
  const late = await user.post(`/v1/approvals/${envelope.approval_id}/resolve`, {
    resolution: 'allow',
  });
  assert.equal(late.status, 409);
  assert.equal(late.body.error, 'already_resolved');
  assert.equal(github.hits.length, before, 'nothing was sent');
  say(
    `denied approval ${envelope.approval_id}: the agent was told “${denied.reason}”, GitHub saw nothing`,
  );
}

async function tellFromAudit(
  user: Caller,
  { say, credential, approvalId }: { say: Stage['say']; credential: string; approvalId: string },
): Promise<void> {
  const types = [
    'approval.raised',
    'approval.resolved',
    'action.intent',
    'action.outcome',
    'execution.finished',
  ];
  let rows: { type: string; description: string }[] = [];
  await until(async () => {
    rows = (await ok(user.get(`/v1/audit?approval_id=${approvalId}&limit=50`))).items;
    return types.every((type) => rows.some((row) => row.type === type));
  });
  for (const type of types) {
    assert.equal(rows.filter((row) => row.type === type).length, 1, `${type} is audited once`);
  }
  const verified = await ok(user.get('/v1/audit/verify'));
  assert.equal(verified.valid, true);
  const everything = JSON.stringify(await ok(user.get('/v1/audit?limit=200')));
  assert.ok(!everything.includes(credential), 'the credential is nowhere in the audit log');
  say(`audited: ${types.join(', ')}; chain of ${verified.rows_checked} rows verified`);
}

async function ok(pending: ReturnType<Caller['get']>, status = 200) {
  const reply = await pending;
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  return reply.body;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 400; round += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('waited 20 s for something that did not happen');
}

/** The event stream as a browser reads it. */
async function openFeed(
  origin: string,
  cookie: string,
): Promise<{ until(type: string, approvalId: string): Promise<void> } & AsyncDisposable> {
  const ending = new AbortController();
  const reply = await fetch(`${origin}/v1/events`, {
    headers: { cookie, accept: 'text/event-stream' },
    signal: ending.signal,
  });
  assert.equal(reply.status, 200);
  let received = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? []) received += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined); // Aborted below.
  return {
    until: (type, approvalId) =>
      until(async () => received.includes(type) && received.includes(approvalId)),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reading;
    },
  };
}
