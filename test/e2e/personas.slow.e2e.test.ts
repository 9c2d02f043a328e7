import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { callToolByMcp } from './escalation/ways.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/** The answer of a tool, which the client reads as a model would. */
type Answer = Awaited<ReturnType<typeof callToolByMcp>>['body'];

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** A client that knows only the tools, and follows the `next` of their answers. */
function clientOf({ key }: Agent) {
  const callTool = async (tool: string, toolArguments: object): Promise<Answer> =>
    (await callToolByMcp(world.url, key, tool, toolArguments)).body;
  return {
    callTool,
    search: (query: string) => callTool('service_search', { query }),
    followNext({ next, ...answer }: Answer): Promise<Answer> {
      expect(next, JSON.stringify(answer)).toBeDefined();
      return callTool(next.tool, next.arguments);
    },
  };
}

/**
 * Connects the requested service, as an admin does on the page of the request. The service calls
 * the test's upstream in place of the provider.
 */
async function connectAsAdmin(
  { template, request_id }: { template: string; request_id?: string },
  secretName: string,
): Promise<void> {
  const { admin, upstream } = world;
  const secret = { name: secretName, value: `CANARY-${template}`, tier: 'org' };
  successfulBodyOf(await admin.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }));
  const service = { template, tier: 'org', base_url: upstream.url, request_id };
  successfulBodyOf(await admin.post('/v1/services', service));
}

const allowCall = async ({ approval_id }: Answer): Promise<void> =>
  void successfulBodyOf(
    await world.admin.post(`/v1/approvals/${approval_id}/resolve`, { resolution: 'allow' }),
  );

describe('an agent that knows only what the tools say', () => {
  test('finds PagerDuty in the catalogue, gets it connected, and acknowledges an incident (persona: on call)', async () => {
    const client = clientOf(await createAgent(world.url, world.admin, 'on-call'));

    const emptySearchAnswer = await client.search('acknowledge the incident that paged me');
    expect(emptySearchAnswer['results']).toEqual([]);
    const catalogue = await client.followNext(emptySearchAnswer);
    const [row] = catalogue['results'];
    expect(row).toMatchObject({ template: 'pagerduty', action: 'update_incident', service: null });

    const requestAnswer = await client.callTool('service_auth', {
      operation: 'request_service',
      template: row.template,
      actions: [row.action],
      reason: 'To acknowledge pages at night.',
      tier: 'org',
    });
    const untilReady = client.followNext(requestAnswer);
    await connectAsAdmin(
      { template: row.template, request_id: requestAnswer['request'].id },
      'pagerduty_key',
    );
    expect(await untilReady).toMatchObject({
      request: { status: 'ready', service: 'org/pagerduty' },
    });

    const [action] = (await client.search('acknowledge the incident that paged me'))['results'];
    expect(action).toMatchObject({
      service: 'pagerduty',
      action: 'update_incident',
      risk: 'write',
    });
    const pending = await client.callTool('service_call', {
      service: action.service,
      action: action.action,
      params: {
        incident_id: 'Q1ABCDEF',
        incident: { type: 'incident_reference', status: 'acknowledged' },
        From: 'on-call@example.com',
      },
    });
    expect(pending['status']).toBe('pending_approval');
    await allowCall(pending);
    expect(await client.followNext(pending)).toMatchObject({ status: 'called' });
  });

  test('is led to a person when the credential of its service is gone (persona: support)', async () => {
    const client = clientOf(await createAgent(world.url, world.admin, 'support'));
    await connectAsAdmin({ template: 'zendesk' }, 'zendesk_login');
    const { items } = successfulBodyOf(await world.admin.get('/v1/secrets'));
    const { id } = items.find(({ name }: { name: string }) => name === 'zendesk_login');
    successfulBodyOf(await world.admin.delete(`/v1/secrets/${id}`));

    const [row] = (await client.search('tickets waiting for an answer'))['results'];
    expect(row).toMatchObject({ service: 'zendesk', action: 'search', risk: 'read' });
    const read = { service: row.service, action: row.action, params: { query: 'status:open' } };
    const refused = await client.callTool('service_read', read);
    expect(refused['error']).toBe('credential_missing');
    const { request } = await client.followNext(refused);
    const { pathname } = new URL(request.provide_url);
    const value = { value: 'ann@example.com/token:CANARY-zendesk' };
    successfulBodyOf(
      await world.admin.post(`/v1${pathname}`, { ...value, allowed_hosts: [world.upstream.host] }),
    );
    await expect
      .poll(() => client.callTool('service_read', read))
      .toMatchObject({
        status: 'called',
      });
  });

  test('finds the service that it has misspelled, and its action (persona: release)', async () => {
    const client = clientOf(await createAgent(world.url, world.admin, 'release'));
    await connectAsAdmin({ template: 'github' }, 'github_token');

    const params = { repository: 'acme/site' };
    const misspelled = { service: 'git-hub', action: 'list_releases', params };
    const refused = await client.callTool('service_read', misspelled);
    expect(refused['error']).toBe('unknown_service');
    const [row] = (await client.followNext(refused))['results'];
    expect(row.service).toBe('github');
    const [action] = (await client.search('newest release of a repository'))['results'];
    const read = { service: action.service, action: action.action, params };
    expect(await client.callTool('service_read', read)).toMatchObject({ status: 'called' });
  });
});
