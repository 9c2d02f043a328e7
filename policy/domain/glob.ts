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
  /** States to which a character moves on. */
  readonly moves: ReadonlyMap<number, Uint32Array>;
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
  const moves = new Map<number, Uint32Array>();
  let state = 0;
  for (const token of tokens) {
    if (token === ANY_RUN) setBit(onAny, state);
    else if (token === SEGMENT_RUN) setBit(onSegment, state);
    else {
      state += 1;
      const into = moves.get(token) ?? new Uint32Array(words);
      setBit(into, state);
      moves.set(token, into);
    }
  }
  return { literals: String.fromCharCode(...literals), onAny, onSegment, moves };
}

/** Does the pattern match this text, character by character? */
export function matchesText(glob: Glob, text: string): boolean {
  return run(glob, text.length, (index) => text.charCodeAt(index));
}

/**
 * Does the pattern match whatever the other pattern matches? Never says yes wrongly; may say no
 * where only a cleverer proof would find that it does.
 */
export function coversPattern(glob: Glob, other: string): boolean {
  const tokens = tokensOf(other);
  return run(glob, tokens.length, (index) => tokens[index] ?? 0);
}

function run(
  { literals, onAny, onSegment, moves }: Glob,
  length: number,
  tokenAt: (index: number) => Token,
): boolean {
  const words = onAny.length;
  let states = new Uint32Array(words);
  let next = new Uint32Array(words);
  states[0] = 1;
  for (let index = 0; index < length; index += 1) {
    const token = tokenAt(index);
    const into = moves.get(token);
    const segmentMask = token === SLASH || token === ANY_RUN ? 0 : 0xffffffff;
    let carry = 0;
    let alive = 0;
    for (let word = 0; word < words; word += 1) {
      const current = states[word] ?? 0;
      const stays = (onAny[word] ?? 0) | ((onSegment[word] ?? 0) & segmentMask);
      const moved = into === undefined ? 0 : ((current << 1) | carry) & (into[word] ?? 0);
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
