/**
 * How many steps a backtracking matcher takes for a text, at most: a bound that is read off the
 * pattern. Each choice of the pattern (an alternative, an optional part, how often to repeat)
 * multiplies the ways that may have to be tried; Infinity where only trying would tell. Without
 * Unicode mode `\p{1,}` is a repeated letter, not a class.
 */
export function stepsOf(pattern: string, isUnicode = true): (length: number) => number {
  const { ways, loops, atoms, isWhole } = new Reader(pattern, isUnicode).readAll();
  const isAnchored = pattern.startsWith('^') && isWhole;
  return (length) => ways * (length + 1) ** (isAnchored ? loops : loops + 1) * (atoms + 1);
}

/** At most `ways` times n to the power of `loops` ways to match n characters, each of so many `atoms`. */
interface Cost {
  readonly ways: number;
  readonly loops: number;
  readonly atoms: number;
}

interface Part extends Cost {
  readonly isGroup: boolean;
}

const unknown: Cost = { ways: Infinity, loops: 0, atoms: 0 };
const one: Part = { ways: 1, loops: 0, atoms: 1, isGroup: false };
const nothing: Part = { ways: 1, loops: 0, atoms: 0, isGroup: false };

class Reader {
  readonly #pattern: string;
  readonly #isUnicode: boolean;
  #at = 0;

  constructor(pattern: string, isUnicode: boolean) {
    this.#pattern = pattern;
    this.#isUnicode = isUnicode;
  }

  readAll(): Cost & { readonly isWhole: boolean } {
    const { alternatives, ...cost } = this.#readAlternatives();
    // What is left is a bracket too many, which some patterns get away with.
    const isRead = this.#at >= this.#pattern.length;
    return { ...(isRead ? cost : unknown), isWhole: alternatives === 1 };
  }

  #readAlternatives(): Cost & { readonly alternatives: number } {
    let sum = this.#readSequence();
    let alternatives = 1;
    while (this.#take('|')) {
      const next = this.#readSequence();
      alternatives += 1;
      sum = {
        ways: sum.ways + next.ways,
        loops: Math.max(sum.loops, next.loops),
        atoms: Math.max(sum.atoms, next.atoms),
      };
    }
    return { ...sum, alternatives };
  }

  #readSequence(): Cost {
    let cost: Cost = nothing;
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#pattern[this.#at] ?? '')) {
      const part = this.#repeat(this.#readPart());
      cost = {
        ways: cost.ways * part.ways,
        loops: cost.loops + part.loops,
        atoms: cost.atoms + part.atoms,
      };
    }
    return cost;
  }

  #readPart(): Part {
    const character = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (character === '(') return this.#readGroup();
    if (character === '[') {
      for (; this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']'; this.#at += 1) {
        if (this.#pattern[this.#at] === '\\') this.#at += 1;
      }
      this.#at += 1;
      return one;
    }
    if (character === '^' || character === '$') return nothing;
    if (character !== '\\') return one;
    const escaped = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (/[1-9k]/.test(escaped)) return { ...unknown, isGroup: false };
    if (/[bB]/.test(escaped)) return nothing;
    // `\u{…}`, `\p{…}`: no repetition follows but what stands behind the brace.
    const isBraced = this.#isUnicode && /[upP]/.test(escaped);
    const braced = /^\{[^{}]*\}/.exec(isBraced ? this.#pattern.slice(this.#at) : '');
    this.#at += braced?.[0].length ?? 0;
    return one;
  }

  #readGroup(): Part {
    const opening = /^\?(?::|<?[=!]|<\w+>)/.exec(this.#pattern.slice(this.#at));
    if (opening === null && this.#pattern[this.#at] === '?') return { ...unknown, isGroup: true };
    this.#at += opening?.[0].length ?? 0;
    const { ways, loops, atoms } = this.#readAlternatives();
    this.#at += 1;
    return { ways, loops, atoms, isGroup: true };
  }

  #repeat(part: Part): Cost {
    const found = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(this.#pattern.slice(this.#at));
    if (found === null) return part;
    this.#at += found[0].length;
    const [, sign, least, comma, most] = found;
    if (sign === '?') return { ...part, ways: part.ways + 1 };
    if (sign !== undefined || (comma !== undefined && most === '')) return this.#loop(part);
    const from = Number(least);
    const to = comma === undefined ? from : Number(most);
    return {
      // Each repetition of a group has all of its ways.
      ways: part.ways ** to * Math.max(1, to - from + 1),
      loops: part.loops * to,
      atoms: part.atoms * to,
    };
  }

  /** A group that can be read in one way only is repeated like a character; of others nobody knows. */
  #loop(part: Part): Cost {
    const isPlain = part.ways === 1 && part.loops === 0;
    return isPlain ? { ways: 1, loops: 1, atoms: part.atoms } : unknown;
  }

  #take(character: string): boolean {
    if (this.#pattern[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}
