import { context as activeContext, propagation } from '@opentelemetry/api';

import type { Deadline } from '#bus';
import type { Egress, EgressRequest, EgressResponse } from '#egress';
import { mayHaveLeft, receivedHead } from '#egress';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { inject } from '../domain/inject.ts';
import type { Credential } from '../domain/inject.ts';
import { redirectTarget, redirectsMax } from '../domain/redirect.ts';
import type { HeaderPair } from '../domain/request.ts';
import { retryDelayMs } from '../domain/retry.ts';
import type { Received } from '../domain/shape-body.ts';
import type { RpcResponse } from '../mcp/message.ts';
import type { CallFacts } from './facts.ts';
import type { PreparedCall } from './prepare.ts';

export interface Sending {
  readonly facts: CallFacts;
  readonly prepared: PreparedCall;
  readonly credentials: readonly Credential[];
  readonly timeoutMs: number;
}

export interface Answer extends Received {
  /** The URL that answered, without credentials. */
  readonly url: string;
  /** Of an MCP server: what it answered, where that was an answer of its protocol. */
  readonly message?: RpcResponse | undefined;
}

/** What became of a request that is sent at most once. */
export type SentOnce =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** Provably nothing left. */
  | { readonly kind: 'unsent'; readonly error: AppError }
  /** It may have arrived, and there is no way to know. */
  | { readonly kind: 'unknown'; readonly error: AppError };

type SendDeps = Pick<Deps, 'egress' | 'inlineBytesMax'>;

/** How much of the caller's time is left for sending, with some of it kept for shaping and recording. */
export function sendingTimeMs(timeoutMs: number, deadline: Deadline): number {
  const remainingMs = deadline.remainingMs();
  return Math.max(1, Math.min(timeoutMs, remainingMs - Math.min(1_000, remainingMs / 4)));
}

/** Sends a read: again after a lost connection, and on along redirects within its own operation. */
export async function sendRead(deps: SendDeps, sending: Sending): Promise<Answer> {
  const endsAt = performance.now() + sending.timeoutMs;
  let { url } = sending.prepared.request;
  for (let hop = 0; ; hop += 1) {
    const answer = await sendWithRetries(deps, { ...sending, url, endsAt });
    const next = hop < redirectsMax ? nextHop(sending, answer) : undefined;
    if (next === undefined) return answer;
    url = next;
  }
}

/** Sends a non-read once, whatever happens. `beforeSend` is asked at the last moment, and refuses by throwing. */
export async function sendOnce(
  deps: SendDeps,
  sending: Sending,
  beforeSend: () => void,
): Promise<SentOnce> {
  let refusal: unknown;
  const lastCheck = () => {
    try {
      beforeSend();
    } catch (thrown) {
      refusal = thrown;
      throw thrown;
    }
  };
  const { url } = sending.prepared.request;
  try {
    const answer = await exchange(deps, { ...sending, url, beforeSend: lastCheck });
    return { kind: 'answered', answer };
  } catch (thrown) {
    const error = AppError.from(thrown);
    const isUnsent = refusal !== undefined || thrown instanceof Unsendable || !mayHaveLeft(thrown);
    if (isUnsent) return { kind: 'unsent', error };
    const head = receivedHead(thrown);
    if (head === undefined || head.status > 599) return { kind: 'unknown', error };
    // It has been done, and we know how it ended: that part of the answer is missing changes nothing.
    const lost = error.code === 'response_too_large' ? 'too_large' : 'incomplete';
    return { kind: 'answered', answer: { ...head, body: null, lost, url } };
  }
}

async function sendWithRetries(
  deps: SendDeps,
  sending: Sending & { url: string; endsAt: number },
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const remainingMs = sending.endsAt - performance.now();
    try {
      return await exchange(deps, { ...sending, timeoutMs: Math.max(1, remainingMs) });
    } catch (thrown) {
      const { code } = AppError.from(thrown);
      const delayMs = retryDelayMs({
        code,
        attempt,
        remainingMs: sending.endsAt - performance.now(),
        jitter: Math.random(),
      });
      if (delayMs === undefined) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

async function exchange(
  { egress, inlineBytesMax }: { egress: Egress; inlineBytesMax: number },
  {
    prepared,
    credentials,
    url,
    timeoutMs,
    beforeSend,
  }: Sending & { url: string; beforeSend?: () => void },
): Promise<Answer> {
  const { method, headers, body } = prepared.request;
  const addressed = inject({ url, headers: transportHeaders(headers) }, credentials);
  const response = await requestOf(egress, {
    method,
    url: addressed.url,
    headers: addressed.headers,
    body: body ?? undefined,
    connectTimeoutMs: Math.min(5_000, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    maxBytes: inlineBytesMax,
    overflow: 'truncate',
    beforeSend,
  });
  if (response.status > 599) {
    throw new AppError(
      'upstream_incomplete',
      'The upstream answered with a status that HTTP does not know.',
    );
  }
  return {
    status: response.status,
    headers: response.headers,
    body: response.truncated ? null : response.body,
    lost: response.truncated ? 'too_large' : null,
    url,
  };
}

/** What egress finds wrong with a request came from the call's parameters. */
async function requestOf(egress: Egress, request: EgressRequest): Promise<EgressResponse> {
  try {
    return await egress.request(request);
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'invalid_request') throw thrown;
    throw new Unsendable('invalid_params', thrown.message);
  }
}

/** Refused before anything was sent. */
class Unsendable extends AppError {}

/** What belongs to the sending and not to the request: added outside the digest that a person approved. */
function transportHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  const carrier: Record<string, string> = {};
  propagation.inject(activeContext.active(), carrier);
  const own: HeaderPair[] = [['accept-encoding', 'gzip, deflate, br']];
  if (!headers.some(([name]) => name === 'user-agent'))
    own.push(['user-agent', 'agent-action-gateway']);
  const { traceparent } = carrier;
  if (traceparent === undefined) return [...headers, ...own];
  return [
    ...headers.filter(([name]) => name !== 'traceparent'),
    ...own,
    ['traceparent', traceparent],
  ];
}

function nextHop({ facts, prepared }: Sending, answer: Answer): string | undefined {
  const { method } = prepared.request;
  if (facts.target.kind !== 'action' || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (prepared.template === undefined || answer.status < 300 || answer.status > 399)
    return undefined;
  return redirectTarget({
    status: answer.status,
    location: answer.headers.find(([name]) => name.toLowerCase() === 'location')?.[1],
    url: answer.url,
    template: prepared.template,
    actionKey: facts.target.action,
    baseUrl: facts.target.baseUrl,
  });
}
