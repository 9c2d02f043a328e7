import { randomUUID } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import type { Deadline } from '#bus';
import type { TokenDerivation } from '#contracts/credential-derivation';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import { createScrubber } from '../answers/domain/scrub.ts';
import { waitWithin } from '../credentials/wait-within.ts';
import { writeBody } from '../providers/request-tokens.ts';
import { readDerivedAnswer } from './domain/derived-answer.ts';
import { readParts } from './domain/secret-parts.ts';
import { tokenRequestOf } from './domain/token-request.ts';

/** A secret of several parts, and the way to derive tokens from it. */
export interface DerivableSecret {
  readonly orgId: string;
  readonly secretId: string;
  /** The name of the secret, for errors. */
  readonly name: string;
  /** Each version of the secret has its own tokens. */
  readonly version: number;
  readonly derivation: TokenDerivation;
  reveal(): string;
}

export interface DerivedToken {
  readonly value: string;
  /** Distinguishes this token from earlier ones. */
  readonly serial: number;
}

export interface DerivedTokens {
  /**
   * Returns the current token, or requests a new one: when there is none, when the current one
   * expires soon, or when its serial is `refused`. Throws `credential_missing` for a secret that
   * cannot be used, `SecretRefused` when the provider refuses the secret, `reauth_required` when it
   * refuses the request for another reason, and `upstream_…` when it gives no answer.
   */
  open(
    secret: DerivableSecret,
    options: { refused?: number | undefined },
    deadline: Deadline,
  ): Promise<DerivedToken>;
}

/** The error when the provider that issues the tokens refuses the secret itself. */
export class SecretRefused extends AppError {}

interface KeptToken {
  readonly token: DerivedToken | AppError;
  /** A new token is requested from this time on, in milliseconds of the monotonic clock. */
  readonly dueAtMs: number;
  readonly obtainedAtMs: number;
}

const keptMax = 2_000;
const requestTimeoutMs = 10_000;
const answerBytesMax = 262_144;
/** The lifetime assumed for a token when the token response states no lifetime. */
const defaultLifetimeSeconds = 300;
/**
 * The longest time that a token is kept. So a secret that the provider has revoked stops working
 * soon.
 */
const keptSecondsMax = 3_600;
/** A refused secret is tried again after this time, so that calls do not flood the provider. */
const refusalRetryMs = 10_000;
/**
 * A token that the upstream refuses sooner than this is not replaced: some upstreams answer 401 for
 * other reasons than a bad token.
 */
const freshTokenMs = 30_000;

/**
 * Requests tokens and keeps them in memory: they are short-lived, every executor can get its own,
 * and the secret stays sealed. Concurrent calls share one request.
 */
export function createDerivedTokens({
  egress,
  clock = performance,
}: {
  egress: Egress;
  /** A monotonic clock in milliseconds. */
  clock?: { now(): number };
}): DerivedTokens {
  const keptTokens = new LRUCache<string, KeptToken>({ max: keptMax });
  const requestsUnderWay = new Map<string, Promise<DerivedToken>>();
  let serial = 0;

  const obtainToken = async (key: string, secret: DerivableSecret): Promise<DerivedToken> => {
    try {
      const { token: value, expiresInSeconds } = await requestToken(egress, secret);
      const seconds = Math.min(expiresInSeconds ?? defaultLifetimeSeconds, keptSecondsMax);
      const token = { value, serial: (serial += 1) };
      const now = clock.now();
      const renewalMarginMs = Math.min(60, seconds / 2) * 1_000;
      keptTokens.set(key, {
        token,
        obtainedAtMs: now,
        dueAtMs: now + seconds * 1_000 - renewalMarginMs,
      });
      return token;
    } catch (error) {
      if (error instanceof AppError && error.code === 'reauth_required') {
        const now = clock.now();
        keptTokens.set(key, { token: error, obtainedAtMs: now, dueAtMs: now + refusalRetryMs });
      }
      throw error;
    }
  };

  return {
    async open(secret, { refused }, deadline) {
      const { orgId, secretId, version, derivation } = secret;
      const key = `${orgId} ${secretId} ${version} ${digestOf(derivation)}`;
      const keptToken = keptTokens.get(key);
      const now = clock.now();
      if (keptToken !== undefined && now < keptToken.dueAtMs) {
        const { token, obtainedAtMs } = keptToken;
        if (token instanceof AppError) throw token;
        const isRefused = token.serial === refused && now - obtainedAtMs > freshTokenMs;
        if (!isRefused) return token;
      }
      let tokenRequest = requestsUnderWay.get(key);
      if (tokenRequest === undefined) {
        tokenRequest = obtainToken(key, secret).finally(() => requestsUnderWay.delete(key));
        tokenRequest.catch(() => undefined); // Every caller may have left before it fails.
        requestsUnderWay.set(key, tokenRequest);
      }
      return waitWithin(deadline, tokenRequest);
    },
  };
}

async function requestToken(
  egress: Egress,
  secret: DerivableSecret,
): Promise<{ token: string; expiresInSeconds: number | null }> {
  const { name, derivation } = secret;
  const parts = readParts(secret.reveal(), { name, required: derivation.required });
  const nowMs = Date.now();
  const { url, headers, fields, secrets } = tokenRequestOf(derivation, {
    parts,
    name,
    nowMs,
    assertionId: randomUUID(),
  });
  const writtenBody = fields === null ? undefined : writeBody(derivation.body, fields);
  const response = await egress.request({
    method: 'POST',
    url,
    headers: [
      ...headers,
      ['accept', 'application/json'],
      ['user-agent', 'agent-action-gateway'],
      ...(writtenBody === undefined ? [] : ([['content-type', writtenBody.contentType]] as const)),
    ],
    body: writtenBody?.body ?? new Uint8Array(),
    totalTimeoutMs: requestTimeoutMs,
    maxBytes: answerBytesMax,
  });
  const text = Buffer.from(response.body).toString('utf8');
  const answer = readDerivedAnswer(derivation.kind, { status: response.status, text, nowMs });
  if (answer.kind === 'granted') return answer;
  const { host } = new URL(url);
  const scrubber = createScrubber(secrets);
  if (answer.kind === 'unusable') {
    throw new AppError(
      'upstream_incomplete',
      `${host} gave no access token for the secret "${name}" (${scrubber.text(answer.problem)}); try again later.`,
      { details: { secret: name } },
    );
  }
  const reason = scrubber.text(answer.error);
  const Refusal = answer.isOfSecret ? SecretRefused : AppError;
  throw new Refusal(
    'reauth_required',
    `${host} refused the secret "${name}" (${reason}): its owner has to check what it allows there, or store it again.`,
    { details: { secret: name, host, reason } },
  );
}
