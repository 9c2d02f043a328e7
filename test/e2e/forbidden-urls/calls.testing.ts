import { successfulBodyOf, pollUntil } from '../../support/world.ts';
import { costlyEntry } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

const templateDocumentOf = (key: string, server: string) => `openapi: 3.1.0
info: { title: ${key}, key: ${key} }
servers: [{ url: ${JSON.stringify(server)} }]
paths:
  /redirect/{room}:
    get:
      operationId: get_room
      summary: Get room {room}
      parameters: [{ name: room, in: path, required: true, schema: { type: string } }]
  /redirect/{room}/file:
    get:
      operationId: download_room
      summary: Download room {room}
      response_type: binary
      parameters: [{ name: room, in: path, required: true, schema: { type: string } }]
  /redirect/{room}/notes:
    post:
      operationId: create_note
      summary: Write into {room}
      parameters:
        - name: room
          in: path
          required: true
          schema: { type: string }
          x-service-resolve: { get: '/redirect/{room}', pick: name }
`;
const callOptions = { timeout_ms: 3_000 };

/** The calls by agents and by people: calls to full URLs, and calls of services. */
export async function createCallEntries(stage: Stage): Promise<Entry[]> {
  const { admin, agent, site } = stage;
  const template = 'forbidden';
  const { publish, connect, passing, passingTemplate } = createServices(stage, 's');
  const document = templateDocumentOf(template, 'https://api.example.com');
  if (!(await publish(template, document))) throw new Error('no template');
  const serviceThatAnswers = await connect(template, { base_url: site.origin });
  if (serviceThatAnswers === undefined) throw new Error('no service');

  const callAction = (service: string, action: string, room: string) =>
    admin.post('/v1/actions/call', { service, action, params: { room }, ...callOptions });
  const callAndCancel = async (service: string, room: string) => {
    const callBody = { service, action: 'create_note', params: { room }, ...callOptions };
    const answer = await agent.post('/v1/actions/call', callBody);
    // The gateway looks up the address before it suspends a call, and refuses a forbidden address
    // without an approval.
    if (answer.body.error === 'upstream_refused_address') return;
    const { approval_id: id } = successfulBodyOf(answer);
    // Cancels the approval, because the number of open approvals is limited: beyond the limit, the
    // gateway would refuse calls before it looks up their address.
    await agent.post(`/v1/approvals/${id}/cancel`, {});
  };
  const createRawCall = (url: string) => ({
    service: 'http',
    method: 'GET',
    path: url,
    ...callOptions,
  });
  const roomOf = (url: string) => site.at('redirect', url).split('/').at(-1) ?? '';

  return [
    {
      name: 'a raw call',
      oneOf: 7,
      attempt: (url) => admin.post('/v1/actions/call', createRawCall(url)),
    },
    {
      name: 'a redirect of a raw call',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => admin.post('/v1/actions/call', createRawCall(site.at('redirect', url))),
    },
    {
      name: 'a call that was approved',
      ...costlyEntry,
      attemptsAtOnceMax: 16,
      async attempt(url) {
        const { status, body } = await agent.post('/v1/actions/call', createRawCall(url));
        if (status > 299) return;
        const approval = `/v1/approvals/${body.approval_id}`;
        successfulBodyOf(await admin.post(`${approval}/resolve`, { resolution: 'allow' }));
        await pollUntil(async () => {
          const { execution } = successfulBodyOf(await admin.get(approval));
          return ['executed', 'failed'].includes(execution?.status);
        }, 'the replay to end');
      },
    },
    {
      name: 'the base URL of a service',
      ...costlyEntry,
      attempt: (url) =>
        passing({ template, base_url: url }, (service) => callAction(service, 'get_room', 'a')),
    },
    {
      name: 'a redirect of a read',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => callAction(serviceThatAnswers, 'get_room', roomOf(url)),
    },
    {
      name: 'a redirect of a download',
      ...costlyEntry,
      attempt: (url) => callAction(serviceThatAnswers, 'download_room', roomOf(url)),
    },
    {
      name: 'a look-up of names for an approver',
      ...costlyEntry,
      attempt: (url) =>
        passing({ template, base_url: url }, (service) => callAndCancel(service, 'a')),
    },
    {
      name: 'a redirect of a look-up of names',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => callAndCancel(serviceThatAnswers, roomOf(url)),
    },
    {
      name: 'the server of a template',
      ...costlyEntry,
      attempt: (url) =>
        passingTemplate(
          (key) => templateDocumentOf(key, url),
          (service) => callAction(service, 'get_room', 'a'),
        ),
    },
  ];
}

/**
 * Creates templates and services of the org, and removes them after use, because the number of each
 * is limited.
 */
export function createServices({ admin }: Stage, prefix: string) {
  let count = 0;
  /** Creates and publishes a template; returns false if the gateway refuses it. */
  const publish = async (key: string, openapi: string): Promise<boolean> => {
    const { status, body } = await admin.post('/v1/templates', { openapi, tier: 'org' });
    if (status > 299) return false;
    const path = `/v1/templates/${key}/publish?tier=org`;
    return (await admin.post(path, { version: body.version })).status < 300;
  };
  /**
   * Connects a service and returns its name; returns undefined if the gateway refuses the service.
   */
  const connect = async (template: string, more: object = {}): Promise<string | undefined> => {
    const name = `${prefix}${(count += 1)}`;
    const body = { template, name, tier: 'org', auto_allow_reads: true, ...more };
    return (await admin.post('/v1/services', body)).status < 300 ? `org/${name}` : undefined;
  };
  /**
   * Connects a service, uses it, and disconnects it. If the gateway refuses the service, nothing is
   * used.
   */
  const connectAndUse = async (
    { template, ...more }: { template: string; base_url?: string },
    use: (service: string) => Promise<unknown>,
  ): Promise<void> => {
    const service = await connect(template, more);
    if (service === undefined) return;
    try {
      await use(service);
    } finally {
      await admin.delete(`/v1/services/${encodeURIComponent(service)}`);
    }
  };
  /**
   * Creates a template, uses a service of the template as `connectAndUse` does, and deletes the
   * template.
   */
  const publishAndUse = async (
    templateDocumentOf: (key: string) => string,
    use: (service: string) => Promise<unknown>,
  ): Promise<void> => {
    const template = `${prefix}-template${(count += 1)}`;
    if (!(await publish(template, templateDocumentOf(template)))) return;
    try {
      await connectAndUse({ template }, use);
    } finally {
      await admin.delete(`/v1/templates/${template}?tier=org`);
    }
  };
  return { publish, connect, passing: connectAndUse, passingTemplate: publishAndUse };
}
