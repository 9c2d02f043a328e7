/**
 * The `arg` of a pattern, as a machine that reads any text once: linear time, no backtracking.
 *
 * State i means that i literal characters have been read; a wildcard is a loop on a state. All
 * states are followed at once as bits of machine words (the Shift-And algorithm), so a text of n
 * characters costs n steps of `literals / 32` words, whatever the pattern and the text are.
 */
export interface Glob {
  /** How many states there are beside the first. */
  readonly literals: number;
  /** Which states may stay where they are on any character, and which on any but `/`. */
  readonly onAny: Uint32Array;
  readonly onSegment: Uint32Array;
  /** Where in `moves` the states stand to which a character moves on, and how many: `at * COUNTS + count`. */
  readonly movesOf: ReadonlyMap<number, number>;
  /** All of them in one piece: rules are kept by the hundred, and lists of their own are large. */
  readonly moves: Uint32Array;
  /** What stands before the first wildcard, and the longest run of literals: a text without them does not match. */
  readonly head: string;
  readonly longest: string;
}

/** Single states are counted; 0: as bits, because there are more of them than words. */
const counts = 1024;

/** How many steps comparing may still take, each some 5 ns: rules are many, and each may be long. */
export interface GlobBudget {
  left: number;
}

/** What `covers` reads instead of a character, where the other pattern has a wildcard. */
type Token = number;
const segmentRun = -1;
const anyRun = -2;
const slash = 0x2f;
const asterisk = 0x2a;

/** `*` is a run without `/`, `**` (or more) any run. */
export function compileGlob(pattern: string): Glob {
  const tokens = tokensOf(pattern);
  const statesOf = new Map<number, number[]>();
  const anyAt: number[] = [];
  const segmentAt: number[] = [];
  let literals = 0;
  for (const token of tokens) {
    if (token === anyRun) anyAt.push(literals);
    else if (token === segmentRun) segmentAt.push(literals);
    else {
      literals += 1;
      const states = statesOf.get(token);
      if (states === undefined) statesOf.set(token, [literals]);
      else states.push(literals);
    }
  }
  const words = (literals >> 5) + 1;
  const movesOf = new Map<number, number>();
  const moves = new Uint32Array(sizeOf(statesOf, words));
  let at = 0;
  for (const [token, states] of statesOf) {
    const isFew = states.length < Math.min(words, counts);
    if (isFew) moves.set(states, at);
    else for (const state of states) setBit(moves, 32 * at + state);
    movesOf.set(token, at * counts + (isFew ? states.length : 0));
    at += Math.min(states.length, words);
  }
  const onAny = bitsOf(anyAt, words);
  const onSegment = bitsOf(segmentAt, words);
  const [head = ''] = pattern.split('*', 1);
  return { literals, onAny, onSegment, movesOf, moves, head, longest: longestRunIn(pattern) };
}

/** Does the pattern match this text, character by character? What it took is taken from the budget. */
export function matchesText(glob: Glob, text: string, budget?: GlobBudget): boolean {
  if (budget !== undefined) budget.left -= 1;
  if (!text.startsWith(glob.head)) return false;
  // A beginning and `**`: what most rules are, and what is suggested.
  if (glob.literals === glob.head.length && isSet(glob.onAny, glob.literals)) return true;
  if (budget !== undefined) budget.left -= text.length >> 2;
  if (!text.includes(glob.longest)) return false;
  return run(glob, { length: text.length, tokenAt: (index) => text.charCodeAt(index), budget });
}

/**
 * Does the pattern match whatever the other pattern matches? Never says yes wrongly; may say no
 * where only a cleverer proof would find that it does.
 */
export function coversPattern(glob: Glob, other: string, budget?: GlobBudget): boolean {
  if (budget !== undefined) budget.left -= other.length;
  const tokens = tokensOf(other);
  return run(glob, { length: tokens.length, tokenAt: (index) => tokens[index] ?? 0, budget });
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
    const into = movesOf.get(token) ?? -1;
    const at = Math.floor(into / counts);
    const count = into % counts;
    const segmentMask = token === slash || token === anyRun ? 0 : 0xffffffff;
    let carry = 0;
    let alive = 0;
    for (let word = 0; word < words; word += 1) {
      const current = states[word] ?? 0;
      const stays = (onAny[word] ?? 0) | ((onSegment[word] ?? 0) & segmentMask);
      const moved = count === 0 ? ((current << 1) | carry) & (moves[at + word] ?? 0) : 0;
      carry = current >>> 31;
      const result = (current & stays) | moved;
      next[word] = result;
      alive |= result;
    }
    for (let each = 0; each < count; each += 1) {
      const state = moves[at + each] ?? 0;
      if (!isSet(states, state - 1)) continue;
      setBit(next, state);
      alive = 1;
    }
    if (alive === 0) return false;
    [states, next] = [next, states];
  }
  return isSet(states, literals);
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const code = pattern.charCodeAt(at);
    if (code !== asterisk) tokens.push(code);
    else if (pattern.charCodeAt(at - 1) !== asterisk) tokens.push(segmentRun);
    else tokens[tokens.length - 1] = anyRun;
  }
  return tokens;
}

function sizeOf(statesOf: ReadonlyMap<number, readonly number[]>, words: number): number {
  let size = 0;
  for (const { length } of statesOf.values()) size += Math.min(length, words);
  return size;
}

function longestRunIn(pattern: string): string {
  let longest = '';
  for (const run of pattern.split('*')) if (run.length > longest.length) longest = run;
  return longest;
}

function bitsOf(states: readonly number[], words: number): Uint32Array {
  const bits = new Uint32Array(words);
  for (const state of states) setBit(bits, state);
  return bits;
}

function setBit(words: Uint32Array, bit: number): void {
  words[bit >> 5] = (words[bit >> 5] ?? 0) | (1 << (bit & 31));
}

function isSet(words: Uint32Array, bit: number): boolean {
  return ((words[bit >> 5] ?? 0) & (1 << (bit & 31))) !== 0;
}
