import { findRefusal } from '#shares';

/**
 * The four levels at which the approvals raised within the last hour are counted: the org, a user,
 * an agent with its subagents (subtree), and the requester.
 */
export type RaisedLevel = 'org' | 'user' | 'subtree' | 'requester';
export type RaisedCounts = Readonly<Record<RaisedLevel, number>>;

/**
 * The share of the org's hourly limit that one user, subtree or requester may use when no others
 * raise approvals. People decide badly when they are asked hundreds of times an hour, so all agents
 * of one user together get a quarter. One agent with its subagents gets half of that quarter, so
 * that the user's other agents can still ask.
 */
const levelShares = [
  { name: 'user', percent: 25 },
  { name: 'subtree', percent: 50 },
  { name: 'requester', percent: 80 },
] as const;

/** The level that has used up its share, or null when one more approval may be raised. */
export function findRaisedRefusal(
  counts: RaisedCounts,
  raisedPerHourMax: number,
): RaisedLevel | null {
  if (raisedPerHourMax === 0) return null;
  const openCounts = [counts.org, counts.user, counts.subtree, counts.requester];
  const refusal = findRefusal({ capacity: raisedPerHourMax, levels: levelShares }, openCounts);
  return refusal === 'pool' ? 'org' : refusal;
}
