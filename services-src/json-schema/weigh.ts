/** Checking this many characters of text takes about as long as one value. */
const charactersPerValue = 32;

/**
 * The weight of a JSON value: one for itself and for each item and member at any depth, more for
 * long text. Counting stops at `weightMax`, so that a large value costs little.
 */
export function weighJson(root: unknown, weightMax = Infinity): number {
  let weight = 0;
  const openValues: unknown[] = [root];
  while (openValues.length > 0 && weight < weightMax) {
    const next = openValues.pop();
    weight += 1;
    if (typeof next === 'string') weight += Math.floor(next.length / charactersPerValue);
    if (next === null || typeof next !== 'object') continue;
    const innerValues: unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (innerValues.length + openValues.length + weight >= weightMax) return weightMax;
    for (const each of innerValues) openValues.push(each);
  }
  return Math.min(weight, weightMax);
}
