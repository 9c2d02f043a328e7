import { findRefusal } from '#shares';

/** Of the approvals raised within the last hour: those of the whole org, then of the user, and so on inwards. */
export type RaisedLevel = 'org' | 'user' | 'subtree' | 'requester';
export type RaisedCounts = Readonly<Record<RaisedLevel, number>>;

/**
 * What one may raise of its org's approvals while nobody else raises any. A person who is asked a
 * few hundred times an hour decides nothing well any more, so a user's agents get a quarter together; one
 * agent with its subagents half of that, so that others can still ask.
 */
const levels = [
  { name: 'user', percent: 25 },
  { name: 'subtree', percent: 50 },
  { name: 'requester', percent: 80 },
] as const;

/** Whose share of the hour is used up, or null when one more may be raised. */
export function findRaisedRefusal(counts: RaisedCounts, perHour: number): RaisedLevel | null {
  if (perHour === 0) return null;
  const held = [counts.org, counts.user, counts.subtree, counts.requester];
  const refusal = findRefusal({ capacity: perHour, levels }, held);
  return refusal === 'pool' ? 'org' : refusal;
}
