import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';

import { readTemplateFile } from '../catalogue/template-files.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const path = '/gmail/v1/users/me/messages/send';

/** The built-in template of Gmail, changed to another address and to no credentials. */
function gmailAt(url: string): string {
  const document = parse(readTemplateFile('gmail.yaml'));
  document.info.key = 'mailbox';
  document.servers = [{ url }];
  delete document.security;
  delete document.components.securitySchemes;
  for (const item of Object.values<Record<string, object>>(document.paths)) {
    for (const operation of Object.values(item)) Reflect.deleteProperty(operation, 'security');
  }
  return stringify(document);
}

describe('a mail that an agent sends', () => {
  let world: World;
  let agent: Agent;
  beforeAll(async () => {
    world = await startWorld();
    const { admin, upstream } = world;
    successfulBodyOf(
      await admin.post('/v1/templates', { openapi: gmailAt(upstream.url), tier: 'org' }),
    );
    successfulBodyOf(await admin.post('/v1/templates/mailbox/publish?tier=org', { version: 1 }));
    successfulBodyOf(
      await admin.post('/v1/services', { template: 'mailbox', name: 'mailbox', tier: 'org' }),
    );
    agent = await createAgent(world.url, admin, 'secretary');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const send = async (params: object) => {
    const mail = { subject: 'Minutes – Q3', text: 'Hello', ...params };
    const call = { service: 'mailbox', action: 'send_message', params: mail };
    return (await agent.post('/v1/actions/call', call)).body;
  };
  const sentMails = () =>
    world.upstream.hits
      .filter(({ url }) => url === path)
      .map(({ body }) => Buffer.from(JSON.parse(body).raw, 'base64url').toString());

  test('shows its recipients, and is sent at once to a domain that a person has allowed and remembered', async () => {
    const attachments = [{ filename: 'plan.pdf', base64: 'JVBERg==' }];
    const suspendedSend = await send({ to: ['Ann Berg <Ann@acme.example>'], attachments });
    expect(suspendedSend).toMatchObject({ status: 'pending_approval' });
    const card = successfulBodyOf(
      await world.admin.get(`/v1/approvals/${suspendedSend.approval_id}`),
    );
    expect(card).toMatchObject({
      verified: true,
      permission_keys: ['org/mailbox:send_message:ann@acme.example'],
      request: {
        body: {
          to: ['Ann Berg <Ann@acme.example>'],
          attachments: [{ filename: 'plan.pdf', base64: '[REDACTED]' }],
        },
      },
    });
    const disclosed = Object.fromEntries(
      card.disclosed.map(({ label, value }: Record<string, string>) => [label, value]),
    );
    expect(disclosed).toMatchObject({
      To: 'Ann@acme.example',
      'With names': 'Ann Berg <Ann@acme.example>',
      Subject: 'Minutes – Q3',
      Text: 'Hello',
      Attachments: 'plan.pdf (file, 4 bytes)',
    });
    const rule = 'org/mailbox:send_message:*@acme.example';
    const decision = { resolution: 'allow_remember', remember_keys: [rule], ttl: '1h' };
    successfulBodyOf(
      await world.admin.post(`/v1/approvals/${suspendedSend.approval_id}/resolve`, decision),
    );
    await pollUntil(() => sentMails().length === 1, 'the approved mail to be sent');
    const [first = ''] = sentMails();
    expect(first).toContain('To: "Ann Berg" <Ann@acme.example>\r\n');
    expect(first).not.toMatch(/^(?:date|message-id|bcc):/im);

    await pollUntil(
      async () => (await send({ to: ['bob@acme.example'] })).status === 'called',
      'a mail to the domain to pass',
    );
    const sendElsewhere = await send({ to: ['bob@acme.example'], bcc: ['eve@evil.example'] });
    expect(sendElsewhere).toMatchObject({ status: 'pending_approval' });
    const other = successfulBodyOf(
      await world.admin.get(`/v1/approvals/${sendElsewhere.approval_id}`),
    );
    expect(other.permission_keys).toEqual(['org/mailbox:send_message:eve@evil.example']);
  });

  test('is refused when one value contains several addresses or a second header', async () => {
    const mailsBefore = sentMails().length;
    for (const params of [
      { to: ['bob@acme.example, eve@evil.example'] },
      { to: ['bob@acme.example'], subject: 'Hi\r\nBcc: eve@evil.example' },
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect(await send(params)).toMatchObject({ error: 'invalid_params' });
    }
    expect(sentMails()).toHaveLength(mailsBefore);
  });

  test('is stopped by a deny on any recipient, also when it is sent by method and path', async () => {
    const raw = {
      service: 'mailbox',
      method: 'POST',
      path,
      body: { raw: 'VG86', to: ['a@b.example'] },
    };
    const suspendedCall = (await agent.post('/v1/actions/call', raw)).body;
    expect(suspendedCall).toMatchObject({ status: 'pending_approval' });
    const deny = { effect: 'deny', pattern: 'org/mailbox:send_message:*@evil.example' };
    successfulBodyOf(await world.admin.post('/v1/rules', { ...deny, identity_id: null }));
    await pollUntil(
      async () => (await agent.post('/v1/actions/call', raw)).body.status === 'denied',
      'the raw call to be denied',
    );
    const upload = { ...raw, path: `/upload${path}` };
    expect((await agent.post('/v1/actions/call', upload)).body).toMatchObject({ status: 'denied' });
    expect(await send({ to: ['bob@acme.example'] })).toMatchObject({ status: 'called' });
    expect(await send({ to: ['bob@acme.example'], cc: ['Eve@Evil.example'] })).toMatchObject({
      status: 'denied',
    });
  });
});
