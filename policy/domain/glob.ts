/**
 * The `arg` of a pattern, as a machine that reads any text once: linear time, no backtracking.
 *
 * State i means that i literal characters have been read; a wildcard is a loop on a state. All
 * states are followed at once as bits of machine words (the Shift-And algorithm), so a text of n
 * characters costs n steps of `literals / 32` words, whatever the pattern and the text are.
 */
export interface Glob {
  readonly literals: string;
  /** Which states may stay where they are on any character, and which on any but `/`. */
  readonly onAny: Uint32Array;
  readonly onSegment: Uint32Array;
  /** States to which each character moves on: where its words begin in `moves`. */
  readonly movesOf: ReadonlyMap<number, number>;
  /** All of them in one piece: rules are kept by the hundred, and lists of their own are large. */
  readonly moves: Uint32Array;
  /** The longest run of literals: a text without it does not match. */
  readonly longest: string;
}

/** How many words may still be looked at: rules are many, and each may be long. */
export interface GlobBudget {
  left: number;
}

/** What `covers` reads instead of a character, where the other pattern has a wildcard. */
type Token = number;
const SEGMENT_RUN = -1;
const ANY_RUN = -2;
const SLASH = 0x2f;

/** `*` is a run without `/`, `**` (or more) any run. */
export function compileGlob(pattern: string): Glob {
  const tokens = tokensOf(pattern);
  const literals = tokens.filter((token) => token >= 0);
  const words = (literals.length >> 5) + 1;
  const onAny = new Uint32Array(words);
  const onSegment = new Uint32Array(words);
  const movesOf = new Map<number, number>();
  for (const token of literals) if (!movesOf.has(token)) movesOf.set(token, movesOf.size * words);
  const moves = new Uint32Array(movesOf.size * words);
  let state = 0;
  for (const token of tokens) {
    if (token === ANY_RUN) setBit(onAny, state);
    else if (token === SEGMENT_RUN) setBit(onSegment, state);
    else {
      state += 1;
      setBit(moves, 32 * (movesOf.get(token) ?? 0) + state);
    }
  }
  const runs = pattern.split(/\*+/);
  const longest = runs.reduce((most, each) => (each.length > most.length ? each : most), '');
  return { literals: String.fromCharCode(...literals), onAny, onSegment, movesOf, moves, longest };
}

/** Does the pattern match this text, character by character? What it took is taken from the budget. */
export function matchesText(glob: Glob, text: string, budget?: GlobBudget): boolean {
  if (!text.includes(glob.longest)) return false;
  return run(glob, { length: text.length, tokenAt: (index) => text.charCodeAt(index), budget });
}

/**
 * Does the pattern match whatever the other pattern matches? Never says yes wrongly; may say no
 * where only a cleverer proof would find that it does.
 */
export function coversPattern(glob: Glob, other: string): boolean {
  const tokens = tokensOf(other);
  return run(glob, { length: tokens.length, tokenAt: (index) => tokens[index] ?? 0 });
}

interface Tokens {
  readonly length: number;
  readonly tokenAt: (index: number) => Token;
  readonly budget?: GlobBudget | undefined;
}

function run(
  { literals, onAny, onSegment, movesOf, moves }: Glob,
  { length, tokenAt, budget }: Tokens,
): boolean {
  const words = onAny.length;
  let states = new Uint32Array(words);
  let next = new Uint32Array(words);
  states[0] = 1;
  for (let index = 0; index < length; index += 1) {
    if (budget !== undefined) budget.left -= words;
    const token = tokenAt(index);
    const into = movesOf.get(token);
    const segmentMask = token === SLASH || token === ANY_RUN ? 0 : 0xffffffff;
    let carry = 0;
    let alive = 0;
    for (let word = 0; word < words; word += 1) {
      const current = states[word] ?? 0;
      const stays = (onAny[word] ?? 0) | ((onSegment[word] ?? 0) & segmentMask);
      const moved = into === undefined ? 0 : ((current << 1) | carry) & (moves[into + word] ?? 0);
      carry = current >>> 31;
      const result = (current & stays) | moved;
      next[word] = result;
      alive |= result;
    }
    if (alive === 0) return false;
    [states, next] = [next, states];
  }
  return isSet(states, literals.length);
}

function tokensOf(pattern: string): Token[] {
  const parts = pattern.match(/\*+|[^*]/gs) ?? [];
  return parts.map((part) => {
    if (part === '*') return SEGMENT_RUN;
    return part.startsWith('*') ? ANY_RUN : part.charCodeAt(0);
  });
}

function setBit(words: Uint32Array, bit: number): void {
  words[bit >> 5] = (words[bit >> 5] ?? 0) | (1 << (bit & 31));
}

function isSet(words: Uint32Array, bit: number): boolean {
  return ((words[bit >> 5] ?? 0) & (1 << (bit & 31))) !== 0;
}
