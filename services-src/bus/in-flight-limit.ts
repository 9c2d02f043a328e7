import type { Msg } from '@nats-io/transport-node';

import type { Component } from '../contracts/vocabulary.ts';
import { Shares, callerLevels, callerPath } from '../shares/index.ts';
import type { CallerLevel } from '../shares/index.ts';

/** The place that a request holds while it is handled; disposing it frees the place. */
export type InFlightPlace = Disposable;

interface InFlightRequest {
  readonly message: Pick<Msg, 'data'>;
  readonly caller: Component;
  /**
   * The ids of the org, user and identity that the request is for; unset until the request is
   * parsed.
   */
  path?: readonly string[];
}

/**
 * While less than this fraction of the places is taken, requests are not parsed to find out which
 * caller they are for.
 */
const unparsedFractionMax = 1 / 2;
/**
 * The percentages are constants and not settings, because one caller rarely has many requests at
 * one component.
 */
const levels = callerLevels({
  SHARE_ORG_PERCENT: 80,
  SHARE_USER_PERCENT: 80,
  SHARE_IDENTITY_PERCENT: 80,
});

/**
 * Limits the requests that a component handles at a time. Once half of `max` places are taken, each
 * request is parsed for the org, user and identity that it is for, so that these share the places.
 */
export function createInFlightLimit(max: number) {
  const shares = new Shares({ capacity: max, levels });
  const heldRequests = new Set<InFlightRequest>();
  const unparsedEntries = new Set<InFlightRequest>();
  let anonymousCount = 0;

  const holdPlace = (entry: InFlightRequest): InFlightPlace => {
    heldRequests.add(entry);
    return {
      [Symbol.dispose]() {
        if (!heldRequests.delete(entry)) return;
        unparsedEntries.delete(entry);
        if (entry.path !== undefined) shares.give(entry.path);
      },
    };
  };
  /**
   * A request that names no user counts against the calling component, as if that were an identity.
   */
  const createAnonymousPath = ({ caller }: InFlightRequest): readonly string[] => [
    caller,
    String((anonymousCount += 1)),
    '',
  ];

  return {
    /** The places that are taken now. */
    taken: () => heldRequests.size,
    /**
     * Takes a place. When no place is given, returns the level (org, user or identity) whose share
     * is used up, or `pool` when all places are taken.
     */
    take(message: Pick<Msg, 'data'>, caller: Component): InFlightPlace | CallerLevel | 'pool' {
      if (heldRequests.size >= max) return 'pool';
      const entry: InFlightRequest = { message, caller };
      if (heldRequests.size < max * unparsedFractionMax) {
        unparsedEntries.add(entry);
        return holdPlace(entry);
      }
      for (const each of unparsedEntries) {
        each.path = findCallerPath(each.message) ?? createAnonymousPath(each);
        shares.hold(each.path);
      }
      unparsedEntries.clear();
      const callerPath = findCallerPath(message);
      const path = callerPath ?? createAnonymousPath(entry);
      const refusal = shares.take(path);
      if (refusal !== null) return callerPath === undefined ? 'pool' : refusal;
      entry.path = path;
      return holdPlace(entry);
    },
  };
}

const statementFields = ['principal', 'permit', 'gap', 'gapOrPermit'] as const;

/**
 * Finds the org, user and identity that a request is for. The signed statement in the request is
 * read but **not verified**: verification comes later, and costs more than a refusal. Only a
 * component could forge the ids, and would merely have its places counted against them.
 */
function findCallerPath({ data }: Pick<Msg, 'data'>): readonly string[] | undefined {
  try {
    const request = JSON.parse(Buffer.from(data).toString('utf8')) as Record<string, unknown>;
    const signedStatement = statementFields
      .map((name) => request[name])
      .find((each) => typeof each === 'string');
    const ids = typeof signedStatement === 'string' ? payloadOf(signedStatement) : request;
    const { orgId, userId, identityId } = ids;
    if (typeof orgId !== 'string') return undefined;
    return callerPath({ orgId, userId: textOf(userId), identityId: textOf(identityId) });
  } catch {
    // The handler refuses a malformed request, so the limit need not.
    return undefined;
  }
}

function payloadOf(signedStatement: string): Record<string, unknown> {
  const [payload = ''] = signedStatement.split('.', 1);
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
