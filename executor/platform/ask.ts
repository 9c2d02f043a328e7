import type { Client, Deadline, Handlers } from '#bus';
import type { approvals } from '#contracts/bus/approvals';
import type { auth } from '#contracts/bus/auth';
import type { executor } from '#contracts/bus/executor';
import type { notifier } from '#contracts/bus/notifier';
import type { policy } from '#contracts/bus/policy';
import type { registry } from '#contracts/bus/registry';
import type { Call } from '#contracts/call';
import type { platformActions, PlatformActionName } from '#contracts/platform';
import { showApproval } from '#contracts/card';
import { searchLimits } from '#contracts/http/search';
import type { CallContext } from '#contracts/vocabulary';
import type { Macs } from '#signing';
import { invalidParam } from '#templates';
import type { z } from 'zod';

/** The components that own what the service `platform` offers. */
export interface Owners {
  readonly auth: Client<typeof auth>;
  readonly registry: Client<typeof registry>;
  readonly policy: Client<typeof policy>;
  readonly approvals: Client<typeof approvals>;
  readonly notifier: Client<typeof notifier>;
  /** What the cards of approvals are checked by. */
  readonly cards: Macs;
  readonly executor: Pick<Handlers<typeof executor>, 'requestSecret' | 'createConnection'>;
}

type ParamsOf<Name extends PlatformActionName> = z.output<(typeof platformActions)[Name]['params']>;
interface Asked<Name extends PlatformActionName> {
  readonly params: ParamsOf<Name>;
  /** As auth signed it: each owner decides by it, as it does when the gateway asks. */
  readonly principal: string;
  readonly context: CallContext;
  /** Where people go to. */
  readonly baseUrl: string;
  readonly deadline: Deadline;
}

const pageLimit = 50;
const eventsLimit = 100;
const dryRun = { timeoutMs: 30_000, maxRisk: null, idempotencyKey: null };

/** One owner's endpoint for each action: one left out does not compile. */
export const askOwner: {
  readonly [Name in PlatformActionName]: (owners: Owners, asked: Asked<Name>) => Promise<unknown>;
} = {
  whoami: ({ auth }, { principal, deadline }) => auth.getMe({ principal }, deadline),

  list_services: ({ registry }, { params, principal, deadline }) =>
    registry.listServices({ principal, page: pageRequestOf(params) }, deadline),

  search: ({ registry }, { params, principal, deadline }) =>
    registry.search(
      {
        principal,
        query: params.query,
        limit: params.limit ?? searchLimits.default,
        catalog: params.catalog ?? false,
      },
      deadline,
    ),

  validate_call: ({ policy }, { params, principal, deadline }) =>
    policy.explain(
      { principal, call: callOf(params), options: dryRun, asIdentityId: null },
      deadline,
    ),

  async list_pending({ approvals, cards }, { params, principal, deadline }) {
    const page = await approvals.list(
      {
        principal,
        page: pageRequestOf(params),
        status: 'open',
        requesterId: null,
        assignedToMe: false,
        service: null,
      },
      deadline,
    );
    return { ...page, items: page.items.map((item) => showApproval(item, cards)) };
  },

  async cancel_pending({ approvals, cards }, { params: { id }, principal, context, deadline }) {
    return showApproval(await approvals.cancel({ principal, id, context }, deadline), cards, id);
  },

  async get_events({ notifier }, { params, principal, deadline }) {
    const { after = 0, types = null, limit = eventsLimit } = params;
    const feed = await notifier.listFeed({ principal, after, types, limit }, deadline);
    const items = feed.items.map(({ position, event: { audience: _, ...event } }) => ({
      position,
      ...event,
    }));
    return { items, position: feed.position };
  },

  create_subagent: ({ auth }, { params, principal, context, deadline }) =>
    auth.createSubagent({ principal, body: params, context }, deadline),

  async request_secret({ executor }, { params: body, principal, context, baseUrl, deadline }) {
    const { token, ...request } = await executor.requestSecret(
      { principal, body, context },
      deadline,
      'executor',
    );
    return { ...request, provide_url: `${baseUrl}/provide/${token}` };
  },

  request_connection: ({ executor }, { params: body, principal, context, deadline }) =>
    executor.createConnection({ principal, body, context }, deadline, 'executor'),
};

function pageRequestOf({
  limit,
  cursor,
}: {
  limit?: number | undefined;
  cursor?: string | undefined;
}) {
  return { limit: limit ?? pageLimit, cursor: cursor ?? null };
}

/** A dry run of an action, or of a method and path; without headers and secrets, which it shows nothing of. */
function callOf(given: ParamsOf<'validate_call'>): Call {
  const { service, action, params = {}, method, path, body } = given;
  const isHttp = method !== undefined || path !== undefined || body !== undefined;
  if (action !== undefined) {
    if (isHttp) throw invalidParam('action', 'does not go with method, path and body');
    return { kind: 'action', service, action, params, filter: null };
  }
  if (path === undefined) throw invalidParam('action', 'is required, or method and path');
  if (given.params !== undefined) throw invalidParam('params', 'goes with action alone');
  return {
    kind: 'http',
    service,
    method: method ?? 'GET',
    target: path,
    query: {},
    headers: {},
    body: body ?? null,
    secrets: [],
    filter: null,
  };
}
