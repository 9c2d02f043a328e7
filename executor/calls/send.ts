import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';

import { context as activeContext, propagation } from '@opentelemetry/api';

import type { Deadline } from '#bus';
import type { Egress, EgressRequest, EgressResponse } from '#egress';
import { mayHaveLeft, receivedHead } from '#egress';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../domain/base-url.ts';
import { inject } from '../domain/inject.ts';
import type { Credential } from '../domain/inject.ts';
import { downloadTarget, redirectTarget, redirectsMax } from '../domain/redirect.ts';
import type { HeaderPair } from '../domain/request.ts';
import { askedToWaitMs, retriesMax, retryDelayMs } from '../domain/retry.ts';
import { createScrubber } from '../domain/scrub.ts';
import type { Received } from '../domain/shape-body.ts';
import type { RpcResponse } from '../mcp/message.ts';
import type { CallFacts } from './facts.ts';
import { isPlatformCall, sendToOwner } from './send-platform.ts';
import type { PlatformCaller } from './send-platform.ts';
import type { PreparedCall } from './prepare.ts';

export interface Sending {
  readonly facts: CallFacts;
  readonly prepared: PreparedCall;
  readonly credentials: readonly Credential[];
  readonly timeoutMs: number;
  /** Of calls of the platform. */
  readonly platformCaller?: PlatformCaller | undefined;
  /** Of reads: aborts when nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer extends Received {
  /** The URL that answered, without credentials. */
  readonly url: string;
  readonly stream?: Readable | null;
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

type SendDeps = Pick<Deps, 'egress' | 'inlineBytesMax' | 'storedBytesMax' | 'owners' | 'baseUrl'>;
type ReadDeps = SendDeps & Pick<Deps, 'retries'>;

/** How much of the caller's time is left for sending, with some of it kept for shaping and recording. */
export function sendingTimeMs(timeoutMs: number, deadline: Deadline): number {
  const remainingMs = deadline.remainingMs();
  return Math.max(1, Math.min(timeoutMs, remainingMs - Math.min(1_000, remainingMs / 4)));
}

/**
 * Sends a read: again after a lost connection or when asked to wait, and on along redirects: within its own operation, or
 * to where a download is to be had, from then on without any credential.
 */
export async function sendRead(deps: ReadDeps, sending: Sending): Promise<Answer> {
  const endsAt = performance.now() + sending.timeoutMs;
  let hop: Hop = { url: sending.prepared.request.url, isElsewhere: false };
  for (let hops = 0; ; hops += 1) {
    const answer = await sendWithRetries(deps, { ...sending, ...hop, endsAt });
    const next = hops < redirectsMax ? nextHop(sending, hop, answer) : undefined;
    if (next === undefined) return hops === 0 ? answer : withoutEcho(answer, sending);
    answer.stream?.destroy();
    hop = next;
  }
}

/** Where it was sent to may repeat what was injected, and a file is named after it. */
function withoutEcho(answer: Answer, { credentials }: Sending): Answer {
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  return { ...answer, url: scrubber.text(answer.url) };
}

interface Hop {
  readonly url: string;
  /** Not at the upstream any more: nothing of the caller's or of ours goes there but the method. */
  readonly isElsewhere: boolean;
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
    const hop = { url, isElsewhere: false };
    const answer = await exchange(deps, { ...sending, ...hop, beforeSend: lastCheck });
    return { kind: 'answered', answer };
  } catch (thrown) {
    const error = AppError.from(thrown);
    const isUnsent =
      refusal !== undefined ||
      thrown instanceof Unsendable ||
      !mayHaveLeft(thrown) ||
      // Of ours, a component that was not there says that it was not asked.
      (isPlatformCall(sending.facts) &&
        error.code === 'unavailable' &&
        error.details['lost'] !== true);
    if (isUnsent) return { kind: 'unsent', error };
    const head = receivedHead(thrown);
    if (head === undefined || head.status > 599) return { kind: 'unknown', error };
    // It has been done, and we know how it ended: that part of the answer is missing changes nothing.
    const lost = error.code === 'response_too_large' ? 'too_large' : 'incomplete';
    return { kind: 'answered', answer: { ...head, body: null, lost, url } };
  }
}

async function sendWithRetries(
  deps: ReadDeps,
  sending: Sending & Hop & { endsAt: number },
): Promise<Answer> {
  const { origin } = parseAddress(sending.url);
  deps.retries.count(origin);
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = performance.now();
    const timeoutMs = Math.max(1, sending.endsAt - startedAt);
    const [answer, error] = await exchange(deps, { ...sending, timeoutMs }).then(
      (answered) => [answered, undefined] as const,
      (thrown: unknown) => [undefined, AppError.from(thrown)] as const,
    );
    const endedAt = performance.now();
    const delayMs =
      answer === undefined
        ? retryDelayMs({ error, attempt, jitter: Math.random() })
        : askedToWaitMs(answer, Date.now());
    // What follows the pause needs as long as this took; a refusal in time is better than no answer.
    const neededMs = (delayMs ?? 0) + Math.max(1, endedAt - startedAt);
    const isWorthIt =
      delayMs !== undefined && attempt <= retriesMax && endedAt + neededMs < sending.endsAt;
    if (!isWorthIt || !deps.retries.spend(origin)) {
      if (answer === undefined) throw error;
      return answer;
    }
    answer?.stream?.destroy();
    // Cut short by the signal, with which the next attempt is refused.
    await setTimeout(delayMs, undefined, { signal: sending.signal }).catch(() => undefined);
  }
}

async function exchange(
  deps: SendDeps,
  sending: Sending & Hop & { beforeSend?: () => void },
): Promise<Answer> {
  const { prepared, credentials, url, isElsewhere, timeoutMs, beforeSend } = sending;
  if (isPlatformCall(sending.facts)) {
    beforeSend?.();
    return sendToOwner(deps, sending);
  }
  const { egress, inlineBytesMax, storedBytesMax } = deps;
  const { method, headers, body } = prepared.request;
  const addressed = isElsewhere
    ? { url, headers: [acceptAll, ...ownHeaders] }
    : inject({ url, headers: transportHeaders(headers) }, credentials);
  const response = await requestOf(egress, {
    method,
    url: addressed.url,
    headers: addressed.headers,
    body: isElsewhere ? undefined : (body ?? undefined),
    connectTimeoutMs: Math.min(5_000, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    maxBytes: inlineBytesMax,
    overflow: 'stream',
    streamMaxBytes: storedBytesMax,
    circuit: sending.facts.orgId,
    signal: sending.signal,
    beforeSend,
  });
  const { stream, truncated } = response;
  if (response.status > 599) {
    stream?.destroy();
    throw new AppError(
      'upstream_incomplete',
      'The upstream answered with a status that HTTP does not know.',
    );
  }
  return {
    status: response.status,
    headers: response.headers,
    body: truncated || stream ? null : response.body,
    lost: truncated ? 'too_large' : null,
    stream,
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

const acceptAll: HeaderPair = ['accept', '*/*'];
const ownHeaders: readonly HeaderPair[] = [
  ['accept-encoding', 'gzip, deflate'],
  ['user-agent', 'agent-action-gateway'],
];

/** What belongs to the sending and not to the request: added outside the digest that a person approved. */
function transportHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  const carrier: Record<string, string> = {};
  propagation.inject(activeContext.active(), carrier);
  const own = ownHeaders.filter(([name]) => !headers.some(([given]) => given === name));
  const { traceparent } = carrier;
  if (traceparent === undefined) return [...headers, ...own];
  return [
    ...headers.filter(([name]) => name !== 'traceparent'),
    ...own,
    ['traceparent', traceparent],
  ];
}

function nextHop(
  { facts, prepared, credentials }: Sending,
  { isElsewhere }: Hop,
  answer: Answer,
): Hop | undefined {
  const { method } = prepared.request;
  const { action, template } = prepared;
  if (facts.target.kind !== 'action' || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (template === undefined || answer.status < 300 || answer.status > 399) return undefined;
  const { status, url } = answer;
  const location = answer.headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  const { action: actionKey, baseUrl } = facts.target;
  const within = isElsewhere
    ? undefined
    : redirectTarget({ status, location, url, template, actionKey, baseUrl });
  if (within !== undefined) return { url: within, isElsewhere: false };
  if (action?.responseType !== 'binary') return undefined;
  const scrubber = createScrubber(credentials.map(({ value }) => value));
  const link = downloadTarget({ status, location, url, scrubber });
  return link === undefined ? undefined : { url: link, isElsewhere: true };
}
