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

/** The components that own the actions of the service `platform`. */
export interface Owners {
  readonly auth: Client<typeof auth>;
  readonly registry: Client<typeof registry>;
  readonly policy: Client<typeof policy>;
  readonly approvals: Client<typeof approvals>;
  readonly notifier: Client<typeof notifier>;
  /** Checks that the approval cards in approvals' answers were made by the executor. */
  readonly cards: Macs;
  readonly executor: Pick<
    Handlers<typeof executor>,
    'requestSecret' | 'createConnection' | 'createRequest'
  >;
}

type ParamsOf<Name extends PlatformActionName> = z.output<(typeof platformActions)[Name]['params']>;
interface OwnerRequest<Name extends PlatformActionName> {
  readonly params: ParamsOf<Name>;
  /**
   * The caller's principal, signed by auth. The owner decides by it what the caller may do, as for
   * a request from the gateway.
   */
  readonly principal: string;
  readonly context: CallContext;
  /** The address of the gateway, for links to its pages. */
  readonly baseUrl: string;
  readonly deadline: Deadline;
}

const pageLimit = 50;
const eventsLimit = 100;
const dryRun = { timeoutMs: 30_000, maxRisk: null, idempotencyKey: null };

/**
 * For each action of the service `platform`, calls the endpoint of the component that performs it.
 * The type makes a missing action a compile error.
 */
export const askOwner: {
  readonly [Name in PlatformActionName]: (
    owners: Owners,
    request: OwnerRequest<Name>,
  ) => Promise<unknown>;
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
      { principal, call: toDryRunCall(params), options: dryRun, asIdentityId: null },
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

  async request_service({ executor }, { params, principal, context, deadline }) {
    const body = { kind: 'service', ...params } as const;
    const createdRequest = await executor.createRequest(
      { principal, body, context },
      deadline,
      'executor',
    );
    return createdRequest.request;
  },
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

/**
 * The call for which a dry run is requested: an action, or a method and path. It has no headers and
 * no secrets; only the risk of calls that are signed for AWS depends on those.
 */
function toDryRunCall(callParams: ParamsOf<'validate_call'>): Call {
  const { service, action, params = {}, method, path, body } = callParams;
  const isHttp = method !== undefined || path !== undefined || body !== undefined;
  if (action !== undefined) {
    if (isHttp) throw invalidParam('action', 'does not go with method, path and body');
    return { kind: 'action', service, action, params, filter: null };
  }
  if (path === undefined) throw invalidParam('action', 'is required, or method and path');
  if (callParams.params !== undefined) throw invalidParam('params', 'goes with action alone');
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
