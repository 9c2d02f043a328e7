/** A pattern that `allow_remember` stores, as policy will read it (docs/reference/permissions.md#patterns). */
export interface RulePattern {
  readonly pattern: string;
  /** Compared byte for byte, with no wildcards. */
  readonly exact: boolean;
}

/**
 * Whether a rule of this pattern would allow the key. Policy decides every call; this only finds
 * the open approvals that a new rule makes needless, so that they can be allowed with it.
 */
export function covers({ pattern, exact }: RulePattern, key: string): boolean {
  if (exact) return pattern === key;
  const [service, action, arg] = segmentsOf(pattern);
  const [keyService, keyAction, keyArg] = segmentsOf(key);
  if (arg === undefined || keyArg === undefined) return false;
  const anyVerb = service === 'http' && action === 'ANY';
  return (
    segmentMatches(service, keyService) &&
    (anyVerb || segmentMatches(action, keyAction)) &&
    (arg === '*' || argMatches(arg, keyArg))
  );
}

/** Three segments, split at the first two colons. */
function segmentsOf(text: string): [string?, string?, string?] {
  const first = text.indexOf(':');
  const second = text.indexOf(':', first + 1);
  if (first < 0 || second < 0) return [];
  return [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)];
}

function segmentMatches(pattern: string | undefined, value: string | undefined): boolean {
  return pattern === '*' || pattern === value;
}

/**
 * `*` matches any run without `/`, `**` any run. Walks the text once with the set of pattern
 * positions that are still possible, so its cost is bounded by the two lengths whatever is in them.
 */
function argMatches(pattern: string, text: string): boolean {
  const fixed = pattern.search(/\*|$/);
  if (!text.startsWith(pattern.slice(0, fixed))) return false;
  const wild = pattern.slice(fixed);
  // What is suggested ends so, and a cascade looks at hundreds of keys.
  return wild === '**' || wildMatches(wild, text.slice(fixed));
}

function wildMatches(pattern: string, text: string): boolean {
  const tokens = pattern
    .split(/(\*\*|\*)/)
    .flatMap((part) => (part.startsWith('*') ? [part] : part.split('')));
  let possible = closure(tokens, new Set([0]));
  for (const character of text.split('')) {
    const next = new Set<number>();
    for (const position of possible) {
      const token = tokens[position];
      if (token === '**' || (token === '*' && character !== '/')) next.add(position);
      else if (token === character) next.add(position + 1);
    }
    if (next.size === 0) return false;
    possible = closure(tokens, next);
  }
  return possible.has(tokens.length);
}

/** A wildcard also matches nothing: whoever stands before it may stand behind it. */
function closure(tokens: readonly string[], positions: Set<number>): Set<number> {
  for (const position of positions) {
    if (tokens[position]?.startsWith('*')) positions.add(position + 1);
  }
  return positions;
}
