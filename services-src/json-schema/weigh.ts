/**
 * How many values a JSON value consists of: itself, its items and its members, at any depth. Stops
 * counting at `most`, so that asking costs no more than the answer is worth.
 */
export function countValues(value: unknown, most = Infinity): number {
  let count = 0;
  const open: unknown[] = [value];
  while (open.length > 0 && count < most) {
    const next = open.pop();
    count += 1;
    if (next === null || typeof next !== 'object') continue;
    const inside: unknown[] = Array.isArray(next) ? next : Object.values(next);
    // Not spread into one call: a list may have more items than a call takes arguments.
    for (let index = 0; index < inside.length && open.length + count < most; index += 1) {
      open.push(inside[index]);
    }
    if (open.length + count >= most) return most;
  }
  return count;
}
