/**
 * One level of nesting at which a pool is shared between groups: orgs, the users of an org, the
 * identities of a user.
 */
export interface Level<Name extends string = string> {
  readonly name: Name;
  /**
   * The percentage of its parent's share that one group may hold while the other groups hold
   * nothing; 100 means no limit at this level.
   */
  readonly percent: number;
}

export interface Pool<Name extends string = string> {
  readonly capacity: number;
  /** Outermost first. */
  readonly levels: readonly Level<Name>[];
}

/**
 * The smallest capacity that is shared. Each level leaves at least one whole place for other
 * groups. In a smaller pool, one place would be more than the fifth that is meant to stay free.
 */
const sharedCapacityMin = 16;

/**
 * Returns the level that refuses `amount` to a holder, or null when the holder may take it. `held`
 * lists how much is held of the whole pool, then how much each group on the path to the holder
 * holds.
 *
 * What is held cannot be taken back, so every group leaves room for groups that come later. A level
 * of `p` percent lets a group hold `p / (100 - p)` times what the group leaves free (the dynamic
 * thresholds of Choudhury and Hahne, 1998, nested). A group that is alone gets `p` percent. Beside
 * n other groups that want everything, it gets as much as each of them, and some room stays free
 * for any n.
 */
export function findRefusal<Name extends string>(
  { capacity, levels }: Pool<Name>,
  heldCounts: readonly number[],
  amount = 1,
): Name | 'pool' | null {
  let room = capacity - (heldCounts[0] ?? 0);
  if (room < amount) return 'pool';
  if (capacity < sharedCapacityMin) return null;
  for (const [at, { name, percent }] of levels.entries()) {
    const ownCount = heldCounts[at + 1] ?? 0;
    // Each unit that is taken reduces the room of every level by one.
    room = (percent * room - (100 - percent) * ownCount) / 100;
    // A group that holds something must leave a whole place for groups that hold nothing.
    if (ownCount > 0 ? room < amount : room <= 0) return name;
  }
  return null;
}
