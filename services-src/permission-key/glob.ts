/**
 * The `arg` of a pattern, compiled to a machine that reads a text once: linear time, no
 * backtracking.
 *
 * State i means that i literal characters have been read; a wildcard is a loop on a state. All
 * states are followed at once as bits of machine words (the Shift-And algorithm), so a text of n
 * characters costs n steps of `literals / 32` words, whatever the pattern and the text are.
 */
export interface Glob {
  /** Number of states, not counting the start state. */
  readonly literals: number;
  /** States with a loop on any character, and states with a loop on any character except `/`. */
  readonly onAny: Uint32Array;
  readonly onSegment: Uint32Array;
  /**
   * For each character, the position of its target states in `moves` and their number, as `at *
   * COUNTS + count`.
   */
  readonly movesOf: ReadonlyMap<number, number>;
  /**
   * The target states of all characters in one array: policy keeps hundreds of rules, and separate
   * arrays would need more memory.
   */
  readonly moves: Uint32Array;
  /**
   * The text before the first wildcard (`head`), and the longest run of literals. A text that does
   * not contain both cannot match.
   */
  readonly head: string;
  readonly longestRun: string;
}

/**
 * The factor by which `movesOf` packs position and count. A count of 0 means that the states are
 * stored as bits, because there are more of them than words.
 */
const packingFactor = 1024;

/**
 * The number of steps (some 5 ns each) that comparisons may still take: there are many rules, and
 * each may be long.
 */
export interface GlobBudget {
  left: number;
}

/** What `coversPattern` reads in place of a character where the other pattern has a wildcard. */
type Token = number;
const segmentRun = -1;
const anyRun = -2;
const slashCode = 0x2f;
const asteriskCode = 0x2a;

/** Compiles a pattern: `*` matches any run of characters without `/`, `**` (or more) any run. */
export function compileGlob(pattern: string): Glob {
  const tokens = tokensOf(pattern);
  const statesOf = new Map<number, number[]>();
  const anyRunStates: number[] = [];
  const segmentRunStates: number[] = [];
  let literals = 0;
  for (const token of tokens) {
    if (token === anyRun) anyRunStates.push(literals);
    else if (token === segmentRun) segmentRunStates.push(literals);
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
  let index = 0;
  for (const [token, states] of statesOf) {
    const isFew = states.length < Math.min(words, packingFactor);
    if (isFew) moves.set(states, index);
    else for (const state of states) setBit(moves, 32 * index + state);
    movesOf.set(token, index * packingFactor + (isFew ? states.length : 0));
    index += Math.min(states.length, words);
  }
  const onAny = bitsOf(anyRunStates, words);
  const onSegment = bitsOf(segmentRunStates, words);
  const [head = ''] = pattern.split('*', 1);
  return { literals, onAny, onSegment, movesOf, moves, head, longestRun: longestRunOf(pattern) };
}

/** Whether the pattern matches this text. Subtracts the steps that it took from the budget. */
export function matchesText(glob: Glob, text: string, budget?: GlobBudget): boolean {
  if (budget !== undefined) budget.left -= 1;
  if (!text.startsWith(glob.head)) return false;
  // Fast path for literal text followed by `**`: most rules and suggested rules have this form.
  if (glob.literals === glob.head.length && isSet(glob.onAny, glob.literals)) return true;
  if (budget !== undefined) budget.left -= text.length >> 2;
  if (!text.includes(glob.longestRun)) return false;
  return run(glob, { length: text.length, tokenAt: (index) => text.charCodeAt(index), budget });
}

/**
 * Whether the pattern matches everything that the other pattern matches. True is always right;
 * false may be wrong where only a more elaborate proof would show the coverage.
 */
export function coversPattern(glob: Glob, otherPattern: string, budget?: GlobBudget): boolean {
  if (budget !== undefined) budget.left -= otherPattern.length;
  const tokens = tokensOf(otherPattern);
  return run(glob, { length: tokens.length, tokenAt: (index) => tokens[index] ?? 0, budget });
}

interface Tokens {
  readonly length: number;
  readonly tokenAt: (index: number) => Token;
  readonly budget?: GlobBudget | undefined;
}

function run(glob: Glob, { length, tokenAt, budget }: Tokens): boolean {
  const words = glob.onAny.length;
  let states = new Uint32Array(words);
  let nextStates = new Uint32Array(words);
  states[0] = 1;
  for (let index = 0; index < length; index += 1) {
    if (budget !== undefined) budget.left -= words;
    if (!readToken(glob, tokenAt(index), { states, nextStates })) return false;
    [states, nextStates] = [nextStates, states];
  }
  return isSet(states, glob.literals);
}

/** Reads one token from `states` into `nextStates`. Returns false when no state is left. */
function readToken(
  { onAny, onSegment, movesOf, moves }: Glob,
  token: Token,
  { states, nextStates }: { states: Uint32Array; nextStates: Uint32Array },
): boolean {
  const packedMove = movesOf.get(token) ?? -1;
  const wordIndex = Math.floor(packedMove / packingFactor);
  const count = packedMove % packingFactor;
  const segmentMask = token === slashCode || token === anyRun ? 0 : 0xffffffff;
  let carry = 0;
  let aliveStates = 0;
  for (let word = 0; word < onAny.length; word += 1) {
    const currentState = states[word] ?? 0;
    const loopStates = (onAny[word] ?? 0) | ((onSegment[word] ?? 0) & segmentMask);
    const movedState =
      count === 0 ? ((currentState << 1) | carry) & (moves[wordIndex + word] ?? 0) : 0;
    carry = currentState >>> 31;
    const result = (currentState & loopStates) | movedState;
    nextStates[word] = result;
    aliveStates |= result;
  }
  for (let each = 0; each < count; each += 1) {
    const state = moves[wordIndex + each] ?? 0;
    if (!isSet(states, state - 1)) continue;
    setBit(nextStates, state);
    aliveStates = 1;
  }
  return aliveStates !== 0;
}

/**
 * Whether some text matches both patterns. A wildcard of the other pattern is read as every run of
 * characters that it may stand for: it reaches all states that literals lead to, and a `*` only
 * those before the next `/`.
 */
export function overlapsPattern(glob: Glob, otherPattern: string, budget?: GlobBudget): boolean {
  const words = glob.onAny.length;
  let states = new Uint32Array(words);
  let nextStates = new Uint32Array(words);
  states[0] = 1;
  for (const token of tokensOf(otherPattern)) {
    if (token === anyRun || token === segmentRun) {
      if (budget !== undefined) budget.left -= glob.literals;
      for (let state = 0; state < glob.literals; state += 1) {
        if (!isSet(states, state) || isSet(states, state + 1)) continue;
        if (token === anyRun || !isReachedBySlash(glob, state + 1)) setBit(states, state + 1);
      }
      continue;
    }
    if (budget !== undefined) budget.left -= words;
    if (!readToken(glob, token, { states, nextStates })) return false;
    [states, nextStates] = [nextStates, states];
  }
  return isSet(states, glob.literals);
}

function isReachedBySlash({ movesOf, moves }: Glob, state: number): boolean {
  const packedMove = movesOf.get(slashCode);
  if (packedMove === undefined) return false;
  const start = Math.floor(packedMove / packingFactor);
  const count = packedMove % packingFactor;
  if (count === 0) return isSet(moves, 32 * start + state);
  for (let each = 0; each < count; each += 1) if (moves[start + each] === state) return true;
  return false;
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let index = 0; index < pattern.length; index += 1) {
    const code = pattern.charCodeAt(index);
    if (code !== asteriskCode) tokens.push(code);
    else if (pattern.charCodeAt(index - 1) !== asteriskCode) tokens.push(segmentRun);
    else tokens[tokens.length - 1] = anyRun;
  }
  return tokens;
}

function sizeOf(statesOf: ReadonlyMap<number, readonly number[]>, words: number): number {
  let size = 0;
  for (const { length } of statesOf.values()) size += Math.min(length, words);
  return size;
}

function longestRunOf(pattern: string): string {
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
