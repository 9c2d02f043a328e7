/** One step of the way from a pool to who holds something of it: an org, a user of it, an identity of that user. */
export interface Level<Name extends string = string> {
  readonly name: Name;
  /** What one group may hold of its parent's part when no other group holds anything; 100 = no limit here. */
  readonly percent: number;
}

export interface Pool<Name extends string = string> {
  readonly capacity: number;
  /** Outermost first. */
  readonly levels: readonly Level<Name>[];
}

/** Of so few there is nothing to share out: a fifth of them is less than the whole places it takes to leave room. */
const sharedFrom = 16;

/**
 * Which level refuses `amount` to a holder; null when it may have it. `held` says what is held of the
 * whole pool, then by each group on the way to the holder.
 *
 * What is held cannot be taken back, so every group leaves room to those that come after it. A level
 * of `p` percent lets a group hold `p / (100 - p)` times what it leaves free (the dynamic thresholds
 * of Choudhury and Hahne, 1998, one inside the other): alone it gets `p` percent, beside n others
 * that want everything as much as each of them, and something stays free however many there are.
 */
export function findRefusal<Name extends string>(
  { capacity, levels }: Pool<Name>,
  held: readonly number[],
  amount = 1,
): Name | 'pool' | null {
  let room = capacity - (held[0] ?? 0);
  if (room < amount) return 'pool';
  if (capacity < sharedFrom) return null;
  for (const [at, { name, percent }] of levels.entries()) {
    const own = held[at + 1] ?? 0;
    // Each unit that is taken makes the room of every level less by one.
    room = (percent * room - (100 - percent) * own) / 100;
    // Who holds something already leaves a whole place to those that hold nothing.
    if (own > 0 ? room < amount : room <= 0) return name;
  }
  return null;
}
