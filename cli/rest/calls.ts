import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { z } from 'zod';

import { openStatuses } from '#contracts/approval-status';
import type { CallBody, calledReply, deniedReply } from '#contracts/http/actions';
import type { ApprovalResponse, pendingReply } from '#contracts/http/approvals';
import { exitCodes } from '../exit-codes.ts';
import { spellLineEnds } from '../words.ts';
import type { Api } from './api.ts';
import {
  readHeaders,
  readIdempotencyKey,
  readMethod,
  readParams,
  readSecret,
} from './call-input.ts';
import { describeProblems, showBody } from './call-result.ts';
import type { RestCall } from './command.ts';
import { GatewayRefusal } from './gateway-refusal.ts';
import { readTextOption } from './input.ts';
import { idempotencyHeader, isNoAnswer, pauseMsAfter } from './lost-answer.ts';
import { printNote } from './output.ts';
import type { Answer } from './output.ts';
import { readWaitTime } from './time.ts';

type Called = z.infer<typeof calledReply>;
type Pending = z.infer<typeof pendingReply>;
type CallReply = Called | Pending | z.infer<typeof deniedReply>;

const defaultWait = '15m';
const pollMsMin = 500;
const runningText = 'The call is being made.';

/** The options of all calls. */
interface PerformOptions {
  /** True if the option is given without a time. */
  readonly wait?: string | true;
  readonly idempotencyKey?: string;
}

interface CallOptions extends PerformOptions {
  readonly param?: readonly string[];
  readonly jsonParams?: string;
  readonly filter?: string;
  readonly maxRisk?: 'read' | 'write';
}

/** `action-gateway call <service> <action>`: calls an action of a connected service. */
export async function callAction(call: RestCall<CallOptions>): Promise<Answer> {
  const { args, options } = call;
  const [service = '', action = ''] = args;
  const text = options.jsonParams && (await readTextOption(options.jsonParams));
  const params = readParams(options.param ?? [], text);
  const { filter, maxRisk } = options;
  return perform(call, {
    service,
    action,
    params,
    ...(filter !== undefined && { filter }),
    ...(maxRisk !== undefined && { max_risk: maxRisk }),
  });
}

interface HttpOptions extends PerformOptions {
  readonly header?: readonly string[];
  readonly data?: string;
  readonly secret?: readonly string[];
  readonly service?: string;
}

/**
 * `action-gateway http <METHOD> <url>`: calls a URL. With `--service` it calls a path of that
 * service.
 */
export async function callHttp(call: RestCall<HttpOptions>): Promise<Answer> {
  const { args, options } = call;
  const [method = '', path = ''] = args;
  const headers = readHeaders(options.header ?? []);
  const body = options.data === undefined ? undefined : await readTextOption(options.data);
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const isJson = body !== undefined && !hasType && isJsonText(body);
  return perform(call, {
    service: options.service ?? 'http',
    method: readMethod(method),
    path,
    headers: { ...headers, ...(isJson && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
    secrets: (options.secret ?? []).map(readSecret),
  });
}

/**
 * Only checks whether the text is JSON. The body is sent as text, so that its numbers keep all
 * digits.
 */
function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes the call, and waits for a decision with `--wait`. Each call has an idempotency key, so that
 * a person can repeat it safely when its answer is lost.
 */
async function perform(
  { api, options: { wait, idempotencyKey } }: RestCall<PerformOptions>,
  body: CallBody,
): Promise<Answer> {
  const waitMs = wait === undefined ? undefined : readWaitTime(wait === true ? defaultWait : wait);
  const key = idempotencyKey === undefined ? randomUUID() : readIdempotencyKey(idempotencyKey);
  const headers = { [idempotencyHeader]: key };
  const reply = await api.request<CallReply>('POST', '/v1/actions/call', { body, headers });
  if (waitMs !== undefined) return waitForResult(api, reply, waitMs);
  if (reply.status !== 'pending_approval') return answerOf(reply);
  return answerOfPending(api, reply, describePending(reply, api));
}

/**
 * `action-gateway approvals wait <id>`: waits for the decision about a call, and prints its
 * result. Naming the approval never makes another call, while repeating the call could.
 */
export async function waitForApproval(call: RestCall<{ readonly for?: string }>): Promise<Answer> {
  const { api, args, options } = call;
  const waitMs = readWaitTime(options.for ?? defaultWait, '--for');
  const body = { approval_id: args[0] };
  const reply = await api.request<CallReply>('POST', '/v1/actions/call', { body });
  return waitForResult(api, reply, waitMs);
}

async function waitForResult(api: Api, reply: CallReply, waitMs: number): Promise<Answer> {
  if (reply.status !== 'pending_approval') return answerOf(reply);
  printNote(describePending(reply, api));
  return waitForDecision(api, reply, waitMs);
}

/**
 * Asks for the result repeatedly, until the call has ended or the waiting time is over. It asks
 * again when the gateway does not answer.
 */
async function waitForDecision(api: Api, pending: Pending, waitMs: number): Promise<Answer> {
  const { approval_id, poll_after_ms: pollMs } = pending;
  const endsAtMs = performance.now() + waitMs;
  let pauseMs = pollMs;
  let failures = 0;
  /** Undefined while the last answer was that the call waits. */
  let state: string | undefined;
  for (;;) {
    const remainingMs = endsAtMs - performance.now();
    if (remainingMs <= 0) break;
    await sleep(Math.min(Math.max(pollMsMin, pauseMs), remainingMs));
    try {
      const body = { approval_id };
      const reply = await api.request<CallReply>('POST', '/v1/actions/call', { body });
      if (reply.status !== 'pending_approval') return answerOf(reply);
      failures = 0;
      pauseMs = reply.poll_after_ms;
      state = undefined;
    } catch (error) {
      if (isRunning(error)) {
        failures = 0;
        pauseMs = pollMs;
        state = runningText;
      } else if (isNoAnswer(error)) {
        failures += 1;
        pauseMs = pauseMsAfter(failures);
        state = 'The gateway does not answer.';
      } else throw error;
    }
  }
  return answerOfPending(api, pending, state ?? (await describeStatus(api, approval_id)));
}

/** Says why there is no result. A call that was allowed waits too, until it has run. */
async function describeStatus(api: Api, approvalId: string): Promise<string> {
  const path = `/v1/approvals/${encodeURIComponent(approvalId)}` as const;
  const approval = await api.request<ApprovalResponse>('GET', path).catch(() => undefined);
  if (openStatuses.some((open) => open === approval?.status)) return 'Nobody has decided yet.';
  switch (approval?.execution?.status) {
    case 'pending':
      return 'The call is allowed, and has not run yet.';
    case 'executing':
      return runningText;
    default:
      return 'There is no result yet.';
  }
}

function isRunning(error: unknown): boolean {
  return error instanceof GatewayRefusal && error.envelope.error === 'execution_in_progress';
}

/** The answer when there is no result. The note also says how to get the result later. */
function answerOfPending(api: Api, pending: Pending, note: string): Answer {
  return {
    data: pending,
    show: { text: '' },
    note: `${note}\n${describeWaysToResult(pending, api)}`,
    exitCode: exitCodes.waiting,
  };
}

function answerOf(reply: Exclude<CallReply, Pending>): Answer {
  if (reply.status === 'denied') {
    return {
      data: reply,
      show: { text: '' },
      note: `Denied: ${spellLineEnds(reply.reason)}`,
      exitCode: exitCodes.denied,
    };
  }
  const { result, action_description: description } = reply;
  return {
    data: reply,
    show: showBody(result),
    note: [`${result.status_code} ${spellLineEnds(description)}`, ...describeProblems(result)].join(
      '\n',
    ),
    exitCode: result.failure === undefined ? exitCodes.done : exitCodes.failed,
  };
}

/** Says who decides. The program suggests a decision only to people. */
function describePending(reply: Pending, { actsAs, spellCommand }: Api): string {
  const { approval_url: url, approval_id: id } = reply;
  return [
    `Waits for approval: ${spellLineEnds(reply.action_description)}`,
    ...(actsAs === 'agent'
      ? [`Your user, or an agent above you, decides at ${url}`]
      : [`Decide at ${url}`, `or with: ${spellCommand('approvals', 'allow', id)}`]),
  ].join('\n');
}

function describeWaysToResult({ approval_id: id }: Pending, { spellCommand }: Api): string {
  return [
    `To wait for the decision: ${spellCommand('approvals', 'wait', id)}`,
    `The result afterwards: ${spellCommand('approvals', 'show', id)}`,
  ].join('\n');
}
