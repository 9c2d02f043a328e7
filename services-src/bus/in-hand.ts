import type { Msg } from '@nats-io/transport-node';

import type { Component } from '../contracts/vocabulary.ts';
import { Shares, callerLevels, callerPath } from '../shares/index.ts';
import type { CallerLevel } from '../shares/index.ts';

/** A request that is being answered; dispose it when it was. */
export type InHand = Disposable;

interface Entry {
  readonly message: Pick<Msg, 'data'>;
  readonly caller: Component;
  /** Set once it was found out for whom the request is. */
  path?: readonly string[];
}

/** Until so much of them is in hand, nobody has to be protected, and no request is looked into. */
const sharedFromPart = 1 / 2;
/** The requests of one caller are few for a component: these parts need no setting. */
const levels = callerLevels({
  SHARE_ORG_PERCENT: 80,
  SHARE_USER_PERCENT: 80,
  SHARE_IDENTITY_PERCENT: 80,
});

/**
 * The requests that a component has in hand. From half of `max` on they are shared out by the org, the
 * user and the identity for whom they are asked; then each request is looked into once.
 */
export function createInHand(max: number) {
  const shares = new Shares({ capacity: max, levels });
  const all = new Set<Entry>();
  const unlooked = new Set<Entry>();
  let asked = 0;

  const hold = (entry: Entry): InHand => {
    all.add(entry);
    return {
      [Symbol.dispose]() {
        if (!all.delete(entry)) return;
        unlooked.delete(entry);
        if (entry.path !== undefined) shares.give(entry.path);
      },
    };
  };
  /** A request that names no user counts for the calling component, and each for itself within it. */
  const strangerPath = ({ caller }: Entry): readonly string[] => [caller, String((asked += 1)), ''];

  return {
    /** Counts it, or answers whose share is used up; `pool` when there is no room for anybody. */
    take(message: Pick<Msg, 'data'>, caller: Component): InHand | CallerLevel | 'pool' {
      if (all.size >= max) return 'pool';
      const entry: Entry = { message, caller };
      if (all.size < max * sharedFromPart) {
        unlooked.add(entry);
        return hold(entry);
      }
      for (const each of unlooked) {
        each.path = findCallerPath(each.message) ?? strangerPath(each);
        shares.hold(each.path);
      }
      unlooked.clear();
      const known = findCallerPath(message);
      const path = known ?? strangerPath(entry);
      const refusal = shares.take(path);
      if (refusal !== null) return known === undefined ? 'pool' : refusal;
      entry.path = path;
      return hold(entry);
    },
  };
}

const statements = ['principal', 'permit', 'gap', 'gapOrPermit'] as const;

/**
 * For whom a request is asked. Its statement is read and **not verified**: that comes later, and costs
 * more than refusing. Only a component could write another name into it, and would gain no more
 * than places that are counted for somebody else.
 */
function findCallerPath({ data }: Pick<Msg, 'data'>): readonly string[] | undefined {
  try {
    const request = JSON.parse(Buffer.from(data).toString('utf8')) as Record<string, unknown>;
    const signed = statements.map((name) => request[name]).find((each) => typeof each === 'string');
    const says = typeof signed === 'string' ? payloadOf(signed) : request;
    const { orgId, userId, identityId } = says;
    if (typeof orgId !== 'string') return undefined;
    return callerPath({ orgId, userId: textOf(userId), identityId: textOf(identityId) });
  } catch {
    // What is no request will be refused as such.
    return undefined;
  }
}

function payloadOf(signed: string): Record<string, unknown> {
  const [payload = ''] = signed.split('.', 1);
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
