/** Characters of text that take about as long to check as one value. */
const charactersPerValue = 32;

/**
 * What a JSON value weighs: one for itself and each item and member at any depth, more for long
 * text. Stops at `most`, so that asking costs no more than the answer is worth.
 */
export function weighJson(root: unknown, most = Infinity): number {
  let weight = 0;
  const open: unknown[] = [root];
  while (open.length > 0 && weight < most) {
    const next = open.pop();
    weight += 1;
    if (typeof next === 'string') weight += Math.floor(next.length / charactersPerValue);
    if (next === null || typeof next !== 'object') continue;
    const inside: unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (inside.length + open.length + weight >= most) return most;
    for (const each of inside) open.push(each);
  }
  return Math.min(weight, most);
}
