import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { signIn, createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import type { GithubMock, UpstreamHit } from './github-mock.ts';
import type { Receiver } from './receiver.ts';

export interface Stage {
  readonly signInUrl: string;
  readonly github: GithubMock;
  readonly receiver: Receiver;
  /** Gets one line for each step. */
  readonly say: (line: string) => void;
}

/**
 * Plays the product's main use case over public HTTP alone. An agent calls an action that no rule
 * allows, so the call is suspended. The agent's user allows it, and it is replayed with a
 * credential from the vault. The agent gets the result, and the webhook, the event stream and the
 * audit log report the call. Throws at the first step with a different outcome. Returns the user
 * and the agent.
 */
export async function playStory({
  signInUrl,
  github,
  receiver,
  say,
}: Stage): Promise<{ user: Caller; userId: string; bot: Caller }> {
  const { origin } = new URL(signInUrl);
  const credential = `CANARY-${randomUUID()}`;

  const user = await signIn(signInUrl);
  const me = await expectBody(user.get('/v1/identities/me'));
  say(`signed in as ${me.name} (${me.role}) of org ${me.org.name}, user ${me.id}`);

  const agent = await expectBody(user.post('/v1/identities/agents', { name: 'deploy-bot' }), 201);
  const key = await expectBody(user.post(`/v1/identities/${agent.id}/keys`, { name: 'demo' }), 201);
  const bot = createCallerWithKey(origin, key.key);
  say(`created agent ${agent.path.join('/')} ${agent.id} with key ${key.hint}…`);

  const secret = await expectBody(
    user.post('/v1/secrets', {
      name: 'github_token',
      value: credential,
      tier: 'org',
      allowed_hosts: [new URL(github.url).host],
    }),
    201,
  );
  say(`stored secret ${secret.name} version ${secret.version}, for ${secret.allowed_hosts} only`);

  const service = await expectBody(
    user.post('/v1/services', { template: 'github', tier: 'org', base_url: github.url }),
    201,
  );
  say(`connected ${service.name} (${service.actions_count} actions) to ${service.base_url}`);

  const webhook = await expectBody(user.post('/v1/webhooks', { url: receiver.url }), 201);
  receiver.secret = webhook.secret;
  await until(
    async () => (await expectBody(user.get(`/v1/webhooks/${webhook.id}`))).status === 'active',
  );
  say(`subscribed webhook ${webhook.id}; its endpoint answered the handshake`);
  await using feed = await openFeed(origin, user.cookie);

  await callReadWithoutRule(bot, github, say, credential);
  const firstEnvelope = await suspendCall(bot, say, 'The build is red');
  await feed.until('approval.raised', firstEnvelope.approval_id);
  say(`the dashboard heard of it by SSE`);

  const resolvedApproval = await expectBody(
    user.post(`/v1/approvals/${firstEnvelope.approval_id}/resolve`, { resolution: 'allow' }),
  );
  assert.equal(resolvedApproval.status, 'allowed');
  say(
    `${me.name} allowed approval ${firstEnvelope.approval_id} once; execution ${resolvedApproval.execution.id}`,
  );
  const replayedCall = await resumeUntilCalled(bot, firstEnvelope.approval_id);
  assert.equal(replayedCall.result.status_code, 201);
  const posts = github.hits.filter(({ method }) => method === 'POST');
  assert.equal(posts.length, 1, 'the upstream got the POST exactly once');
  expectReceivedPost(posts[0], credential, 'The build is red');
  say(
    `replayed with the vault's credential: GitHub answered 201, the agent has issue #${replayedCall.result.body.number}`,
  );

  await until(async () =>
    receiver.receivedEvents.some(({ type }) => type === 'execution.finished'),
  );
  const deliveredEvents = receiver.receivedEvents.filter(
    ({ data }) => (data.approval_id ?? data.id) === firstEnvelope.approval_id,
  );
  assert.deepEqual(deliveredEvents.map(({ type }) => type).toSorted(), [
    'approval.raised',
    'approval.resolved',
    'execution.finished',
  ]);
  assert.deepEqual(receiver.refusalReasons, []);
  say(
    `the webhook got ${deliveredEvents.map(({ type }) => type).join(', ')}, each signature verified`,
  );

  await rememberPermission(user, bot, { github, say });
  await denyCall(user, bot, { github, say });
  await checkAuditLog(user, { say, credential, approvalId: firstEnvelope.approval_id });
  return { user, userId: me.id, bot };
}

async function callReadWithoutRule(
  bot: Caller,
  github: GithubMock,
  say: Stage['say'],
  credential: string,
): Promise<void> {
  const read = await expectBody(
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

const createIssueCall = (title: string) => ({
  service: 'github',
  action: 'create_issue',
  params: { repository: 'acme/site', title, body: 'Found by the nightly run.' },
});

async function suspendCall(bot: Caller, say: Stage['say'], title: string) {
  const dryRunAnswer = await expectBody(bot.post('/v1/actions/validate', createIssueCall(title)));
  assert.equal(dryRunAnswer.outcome, 'would_require_approval');
  const envelope = await expectBody(bot.post('/v1/actions/call', createIssueCall(title)), 202);
  assert.equal(envelope.status, 'pending_approval');
  assert.deepEqual(envelope.permission_keys, ['github:create_issue:acme/site'].map(orgKey));
  say(`write: ${envelope.action_description} → suspended, approval ${envelope.approval_id}`);
  return envelope;
}

/** In permission keys, a service of the org has a name such as `org/github`. */
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

function expectReceivedPost(hit: UpstreamHit | undefined, credential: string, title: string): void {
  assert.equal(hit?.url, '/repos/acme/site/issues');
  assert.equal(hit?.authorization, `Bearer ${credential}`);
  assert.equal(JSON.parse(hit?.body ?? '{}').title, title);
  assert.equal(hit?.status, 201);
}

async function rememberPermission(
  user: Caller,
  bot: Caller,
  { github, say }: Pick<Stage, 'github' | 'say'>,
): Promise<void> {
  const title = 'Remember me';
  const envelope = await suspendCall(bot, say, title);
  const resolvedApproval = await expectBody(
    user.post(`/v1/approvals/${envelope.approval_id}/resolve`, {
      resolution: 'allow_remember',
      remember_keys: envelope.suggested_tiers[0].keys,
      ttl: '24h',
    }),
  );
  await resumeUntilCalled(bot, envelope.approval_id);
  const before = github.hits.length;
  const directAnswer = await expectBody(
    bot.post('/v1/actions/call', createIssueCall('No need to ask')),
  );
  assert.equal(directAnswer.status, 'called');
  assert.equal(github.hits.length, before + 1);
  const { items } = await expectBody(user.get('/v1/rules'));
  const rule = items.find(
    (each: { approval_id: string }) => each.approval_id === resolvedApproval.id,
  );
  assert.equal(rule.pattern, envelope.permission_keys[0]);
  say(
    `allowed and remembered for 24 h: rule ${rule.id} on ${resolvedApproval.placement.name}; the next call went straight through`,
  );
}

async function denyCall(
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
  const envelope = await expectBody(bot.post('/v1/actions/call', call), 202);
  const reason = 'Close it in the meeting instead.';
  await expectBody(
    user.post(`/v1/approvals/${envelope.approval_id}/resolve`, { resolution: 'deny', reason }),
  );
  const deniedAnswer = await expectBody(
    bot.post('/v1/actions/call', { approval_id: envelope.approval_id }),
  );
  assert.equal(deniedAnswer.status, 'denied');
  assert.equal(deniedAnswer.reason, reason);
  const lateAnswer = await user.post(`/v1/approvals/${envelope.approval_id}/resolve`, {
    resolution: 'allow',
  });
  assert.equal(lateAnswer.status, 409);
  assert.equal(lateAnswer.body.error, 'already_resolved');
  assert.equal(github.hits.length, before, 'nothing was sent');
  say(
    `denied approval ${envelope.approval_id}: the agent was told “${deniedAnswer.reason}”, GitHub saw nothing`,
  );
}

async function checkAuditLog(
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
    rows = (await expectBody(user.get(`/v1/audit?approval_id=${approvalId}&limit=50`))).items;
    return types.every((type) => rows.some((row) => row.type === type));
  });
  for (const type of types) {
    assert.equal(rows.filter((row) => row.type === type).length, 1, `${type} is audited once`);
  }
  const chainVerification = await expectBody(user.get('/v1/audit/verify'));
  assert.equal(chainVerification.valid, true);
  const wholeAudit = JSON.stringify(await expectBody(user.get('/v1/audit?limit=200')));
  assert.ok(!wholeAudit.includes(credential), 'the credential is nowhere in the audit log');
  say(`audited: ${types.join(', ')}; chain of ${chainVerification.rows_checked} rows verified`);
}

async function expectBody(pendingReply: ReturnType<Caller['get']>, status = 200) {
  const reply = await pendingReply;
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  return reply.body;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 2_000; round += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('waited 100 s for something that did not happen');
}

/** Reads the event stream as a browser does. */
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
  let receivedText = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? [])
      receivedText += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined); // Reading fails when the stream is closed on purpose, which is no error.
  return {
    until: (type, approvalId) =>
      until(async () => receivedText.includes(type) && receivedText.includes(approvalId)),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reading;
    },
  };
}
