/**
 * Computes from a pattern an upper bound of the steps that a backtracking matcher takes for a text
 * of a given length. Each choice in the pattern (an alternative, an optional part, a number of
 * repetitions) multiplies the ways that may have to be tried. The result is Infinity where the
 * pattern gives no bound. Outside Unicode mode `\p{1,}` is a repeated letter, not a class.
 */
export function stepsOf(pattern: string, isUnicode = true): (length: number) => number {
  const { ways, loops, atoms, isWhole } = new PatternReader(pattern, isUnicode).readAll();
  const isAnchored = pattern.startsWith('^') && isWhole;
  return (length) => ways * (length + 1) ** (isAnchored ? loops : loops + 1) * (atoms + 1);
}

/**
 * The cost of matching n characters: at most `ways` times n to the power of `loops` ways, each of
 * `atoms` steps.
 */
interface Cost {
  readonly ways: number;
  readonly loops: number;
  readonly atoms: number;
}

interface PartCost extends Cost {
  readonly isGroup: boolean;
}

const unknownCost: Cost = { ways: Infinity, loops: 0, atoms: 0 };
const onePart: PartCost = { ways: 1, loops: 0, atoms: 1, isGroup: false };
const emptyPart: PartCost = { ways: 1, loops: 0, atoms: 0, isGroup: false };

class PatternReader {
  readonly #pattern: string;
  readonly #isUnicode: boolean;
  #at = 0;

  constructor(pattern: string, isUnicode: boolean) {
    this.#pattern = pattern;
    this.#isUnicode = isUnicode;
  }

  readAll(): Cost & { readonly isWhole: boolean } {
    const { alternatives, ...cost } = this.#readAlternatives();
    // If a part of the pattern is left, it begins with an unmatched bracket, which some patterns
    // may have.
    const isRead = this.#at >= this.#pattern.length;
    return { ...(isRead ? cost : unknownCost), isWhole: alternatives === 1 };
  }

  #readAlternatives(): Cost & { readonly alternatives: number } {
    let partSum = this.#readSequence();
    let alternatives = 1;
    while (this.#take('|')) {
      const nextCost = this.#readSequence();
      alternatives += 1;
      partSum = {
        ways: partSum.ways + nextCost.ways,
        loops: Math.max(partSum.loops, nextCost.loops),
        atoms: Math.max(partSum.atoms, nextCost.atoms),
      };
    }
    return { ...partSum, alternatives };
  }

  #readSequence(): Cost {
    let cost: Cost = emptyPart;
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

  #readPart(): PartCost {
    const character = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (character === '(') return this.#readGroup();
    if (character === '[') {
      for (; this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']'; this.#at += 1) {
        if (this.#pattern[this.#at] === '\\') this.#at += 1;
      }
      this.#at += 1;
      return onePart;
    }
    if (character === '^' || character === '$') return emptyPart;
    if (character !== '\\') return onePart;
    const escapedCharacter = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (/[1-9k]/.test(escapedCharacter)) return { ...unknownCost, isGroup: false };
    if (/[bB]/.test(escapedCharacter)) return emptyPart;
    // The brace in `\u{…}` and `\p{…}` is not a repetition, but a repetition may follow it.
    const isBraced = this.#isUnicode && /[upP]/.test(escapedCharacter);
    const bracesMatch = /^\{[^{}]*\}/.exec(isBraced ? this.#pattern.slice(this.#at) : '');
    this.#at += bracesMatch?.[0].length ?? 0;
    return onePart;
  }

  #readGroup(): PartCost {
    const openingMatch = /^\?(?::|<?[=!]|<\w+>)/.exec(this.#pattern.slice(this.#at));
    if (openingMatch === null && this.#pattern[this.#at] === '?')
      return { ...unknownCost, isGroup: true };
    this.#at += openingMatch?.[0].length ?? 0;
    const { ways, loops, atoms } = this.#readAlternatives();
    this.#at += 1;
    return { ways, loops, atoms, isGroup: true };
  }

  #repeat(part: PartCost): Cost {
    const quantifier = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(this.#pattern.slice(this.#at));
    if (quantifier === null) return part;
    this.#at += quantifier[0].length;
    const [, sign, least, comma, most] = quantifier;
    if (sign === '?') return { ...part, ways: part.ways + 1 };
    if (sign !== undefined || (comma !== undefined && most === '')) return this.#loop(part);
    const from = Number(least);
    const to = comma === undefined ? from : Number(most);
    return {
      // Each repetition of a group multiplies the number of ways in which the group can match.
      ways: part.ways ** to * Math.max(1, to - from + 1),
      loops: part.loops * to,
      atoms: part.atoms * to,
    };
  }

  /**
   * The cost of an unlimited repetition. A group that can match only in one way costs as much as a
   * character; for other groups there is no bound.
   */
  #loop(part: PartCost): Cost {
    const isPlainPart = part.ways === 1 && part.loops === 0;
    return isPlainPart ? { ways: 1, loops: 1, atoms: part.atoms } : unknownCost;
  }

  #take(character: string): boolean {
    if (this.#pattern[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }
}
