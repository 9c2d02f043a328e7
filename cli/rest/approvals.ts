import type { ApprovalResponse, Execution, ResolveApprovalBody } from '#contracts/http/approvals';
import { misuse } from '../refusal.ts';
import { makePrintable } from '../words.ts';
import type { Api } from './api.ts';
import { describeProblems, showBody } from './call-result.ts';
import type { RestCall } from './command.ts';
import { askYes, canAsk } from './input.ts';
import { readLimit } from './limit.ts';
import { formatJson } from './output.ts';
import type { Answer } from './output.ts';
import { findId } from './resource-handlers.ts';
import { requesters } from './resources.ts';
import { checkTtl } from './time.ts';

interface ListOptions {
  readonly status?: string;
  readonly requester?: string;
  readonly service?: string;
  readonly risk?: string;
  readonly search?: string;
  readonly mine?: true;
  readonly limit?: string;
}

/**
 * `action-gateway approvals list`: lists the open approvals, or the approvals that the options
 * select.
 */
export async function listApprovals({ api, options }: RestCall<ListOptions>): Promise<Answer> {
  const { status = 'open', requester, service, risk, search, mine } = options;
  const query = {
    status,
    requester: requester && (await findId(api, requesters, requester)),
    service,
    risk,
    q: search,
    assigned: mine && 'me',
  };
  const approvals = await api.list<ApprovalResponse>('/v1/approvals', query, readLimit(options));
  return {
    data: approvals,
    show: {
      header: ['ID', 'STATUS', 'RISK', 'ASKED BY', 'WHAT'],
      table: approvals.map((approval) => [
        approval.id,
        approval.status,
        approval.risk,
        approval.requester.path.join('/'),
        approval.action_description,
      ]),
    },
  };
}

/**
 * `action-gateway approvals show <id>`: shows everything that an approver must see before deciding.
 * After the call it also shows its result, or the error because of which it was not made.
 */
export async function showApproval({ api, args }: RestCall): Promise<Answer> {
  const approval = await getApproval(api, args[0]);
  const result = approval.execution?.result;
  return {
    data: approval,
    show: { facts: listFacts(approval), body: result && showBody(result) },
  };
}

function listFacts(approval: ApprovalResponse): [string, string | null | undefined][] {
  const { request, execution } = approval;
  const isEmpty = (value: unknown) => value === null || Object.keys(Object(value)).length === 0;
  return [
    ['id', approval.id],
    ['status', approval.status],
    ['asked by', approval.requester.path.join('/')],
    ['what', approval.action_description],
    ['risk', approval.risk],
    ['verified', approval.verified ? 'yes' : `no (${approval.unverified ?? 'unknown'})`],
    ['request', `${request.method} ${request.url}`],
    ['headers', isEmpty(request.headers) ? null : JSON.stringify(request.headers)],
    ['params', isEmpty(request.params) ? null : JSON.stringify(request.params)],
    ['body', request.body === null ? null : JSON.stringify(request.body)],
    ['credentials', request.credentials.map(({ kind, name }) => `${kind} ${name}`).join(', ')],
    ...approval.disclosed.map(({ label, value }): [string, string] => [`shown as ${label}`, value]),
    ['too large', request.too_large && 'only the beginning of large values is shown'],
    ['permission keys', approval.permission_keys.join(', ')],
    ...approval.suggested_tiers.map(({ keys, description }): [string, string] => [
      'can be remembered',
      `${keys.join(', ')} (${description})`,
    ]),
    ['expires', approval.expires_at],
    ['resolution', approval.resolution],
    ['reason', approval.reason],
    ['execution', execution && describeExecution(execution)],
  ];
}

function describeExecution({ status, http_status_code: code, error, result }: Execution): string {
  return [
    [status, code].filter((part) => part !== undefined).join(' '),
    ...(error === undefined ? [] : [`${error.error}: ${error.message}`]),
    ...(result === undefined ? [] : describeProblems(result)),
  ].join('. ');
}

interface AllowOptions {
  readonly remember?: true;
  readonly key?: readonly string[];
  readonly ttl?: string;
  readonly reason?: string;
  /** False for `--no-cascade`. */
  readonly cascade: boolean;
  readonly yes?: true;
}

/**
 * `action-gateway approvals allow <id>`: allows the call, and remembers that with `--remember`. If
 * the call has a high risk, or is too large to be shown completely, a person must also type "yes"
 * or give `--yes`.
 */
export async function allowApproval({
  api,
  args,
  options,
}: RestCall<AllowOptions>): Promise<Answer> {
  const { remember, key, ttl, reason, cascade, yes } = options;
  if (remember === undefined && (key !== undefined || ttl !== undefined)) {
    throw misuse('--key and --ttl go with --remember.');
  }
  if (ttl !== undefined) checkTtl(ttl);
  const approval = await getApproval(api, args[0]);
  const isLarge = approval.request.too_large === true;
  if ((approval.risk === 'high' || isLarge) && yes === undefined) await confirm(approval);
  return resolve(api, approval.id, {
    // Without `ttl`, the org's default time applies, so that nothing is remembered for ever by
    // accident.
    resolution: remember === undefined ? 'allow' : 'allow_remember',
    ...(key !== undefined && { remember_keys: [...key] }),
    ...(ttl !== undefined && { ttl }),
    ...(reason !== undefined && { reason }),
    ...(cascade ? {} : { cascade }),
    ...(isLarge && { acknowledge: 'too_large' }),
  });
}

async function confirm(approval: ApprovalResponse): Promise<void> {
  const why = approval.request.too_large === true ? 'is not shown whole' : 'is of high risk';
  const what = makePrintable(approval.action_description);
  if (!canAsk()) throw misuse(`"${what}" ${why}: look at it, and add --yes.`);
  const request = formatJson(approval.request);
  const question = `${request}\n${what}\nThis ${why}. Type "yes" to allow it: `;
  await askYes(question, 'It was not allowed.');
}

/** `action-gateway approvals deny <id>`: refuses the call. The requester can read the reason. */
export async function denyApproval({
  api,
  args,
  options: { reason },
}: RestCall<{ readonly reason?: string }>): Promise<Answer> {
  const id = (await getApproval(api, args[0])).id;
  return resolve(api, id, { resolution: 'deny', ...(reason !== undefined && { reason }) });
}

async function resolve(api: Api, id: string, body: ResolveApprovalBody): Promise<Answer> {
  const approval = await api.request<ApprovalResponse>('POST', `/v1/approvals/${id}/resolve`, {
    body,
  });
  const cascadedCount = approval.cascaded_approval_ids?.length ?? 0;
  const notes = [
    ...(approval.status === 'allowed' ? [describeOutcome(approval, api)] : []),
    ...(cascadedCount === 0
      ? []
      : [`${cascadedCount} more open calls are allowed by the same rule.`]),
  ];
  return {
    data: approval,
    show: { text: `${approval.status}: ${approval.action_description}` },
    note: notes.length === 0 ? undefined : notes.join('\n'),
  };
}

/** Says what became of an allowed call. Usually the call has not ended yet. */
function describeOutcome({ id, execution }: ApprovalResponse, { spellCommand }: Api): string {
  const isOver = execution !== undefined && !['pending', 'executing'].includes(execution.status);
  return isOver
    ? `The call: ${describeExecution(execution)}`
    : `What becomes of the call: ${spellCommand('approvals', 'show', id)}`;
}

function getApproval(api: Api, id = ''): Promise<ApprovalResponse> {
  return api.request('GET', `/v1/approvals/${encodeURIComponent(id)}`);
}
