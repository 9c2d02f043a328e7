import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { z } from 'zod';

import type { CallBody, calledReply, deniedReply } from '#contracts/http/actions';
import type { pendingReply } from '#contracts/http/approvals';
import { exitCodes } from '../exit-codes.ts';
import { quoteForShell, spellLineEnds } from '../words.ts';
import type { Api } from './api.ts';
import { readHeaders, readIdempotencyKey, readParams, readSecret } from './call-input.ts';
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
    // The gateway refuses an unknown method with an error that names the method.
    method: method.toUpperCase() as NonNullable<CallBody['method']>,
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
  if (reply.status !== 'pending_approval' || waitMs === undefined) return answerOf(reply);
  printNote(describePending(reply));
  return waitForDecision(api, reply, waitMs);
}

/**
 * Asks for the result repeatedly, until the call has ended or the waiting time is over. It asks
 * again when the gateway does not answer.
 */
async function waitForDecision(api: Api, pending: Pending, waitMs: number): Promise<Answer> {
  const endsAtMs = performance.now() + waitMs;
  let pauseMs = pending.poll_after_ms;
  let failures = 0;
  let state = 'Nobody has decided yet.';
  for (;;) {
    const remainingMs = endsAtMs - performance.now();
    if (remainingMs <= 0) break;
    await sleep(Math.min(Math.max(pollMsMin, pauseMs), remainingMs));
    try {
      const body = { approval_id: pending.approval_id };
      const reply = await api.request<CallReply>('POST', '/v1/actions/call', { body });
      if (reply.status !== 'pending_approval') return answerOf(reply);
      failures = 0;
      pauseMs = reply.poll_after_ms;
      state = 'Nobody has decided yet.';
    } catch (error) {
      if (isRunning(error)) {
        failures = 0;
        pauseMs = pending.poll_after_ms;
        state = 'The call is being made.';
      } else if (isNoAnswer(error)) {
        failures += 1;
        pauseMs = pauseMsAfter(failures);
        state = 'The gateway does not answer.';
      } else throw error;
    }
  }
  return { ...answerOf(pending), note: `${state} ${describeWayToResult(pending)}` };
}

function isRunning(error: unknown): boolean {
  return error instanceof GatewayRefusal && error.envelope.error === 'execution_in_progress';
}

function answerOf(reply: CallReply): Answer {
  if (reply.status === 'denied') {
    return {
      data: reply,
      show: { text: '' },
      note: `Denied: ${spellLineEnds(reply.reason)}`,
      exitCode: exitCodes.denied,
    };
  }
  if (reply.status === 'pending_approval') {
    return {
      data: reply,
      show: { text: '' },
      note: `${describePending(reply)}\n${describeWayToResult(reply)}`,
      exitCode: exitCodes.waiting,
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

function describePending(pending: Pending): string {
  return [
    `Waits for approval: ${spellLineEnds(pending.action_description)}`,
    `Decide at ${pending.approval_url}`,
    `or with: action-gateway approvals allow ${quoteForShell(pending.approval_id)}`,
  ].join('\n');
}

function describeWayToResult({ approval_id: id }: Pending): string {
  return `The result afterwards: action-gateway approvals show ${quoteForShell(id)}`;
}
