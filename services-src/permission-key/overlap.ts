import type { GlobBudget } from './glob.ts';

/** A character, or a run of any characters, or of any except `/`. */
type Token = string | { readonly crossesSlash: boolean };

/** The most comparisons of two tokens; texts that need more count as overlapping. */
const cellsMax = 1_000_000;

/**
 * Whether some text matches both patterns. A permission key with an unknown position is such a
 * pattern: a deny rule matches it if it could match any value there.
 */
export function patternsOverlap(left: string, right: string, budget?: GlobBudget): boolean {
  const [rows, columns] = [tokensOf(left), tokensOf(right)];
  const cells = (rows.length + 1) * (columns.length + 1);
  if (budget !== undefined) budget.left -= cells;
  if (cells > cellsMax) return true;
  // `below[column]`: whether the rest of both patterns after this row and column share a text.
  let rowBelow: boolean[] = [];
  for (let row = rows.length; row >= 0; row -= 1) {
    const currentRow: boolean[] = [];
    for (let column = columns.length; column >= 0; column -= 1) {
      const [one, other] = [rows[row], columns[column]];
      const [next, after] = [rowBelow[column] ?? false, currentRow[column + 1] ?? false];
      currentRow[column] =
        one === undefined && other === undefined
          ? true
          : (isRun(one) && (next || (runAccepts(one, other) && after))) ||
            (isRun(other) && (after || (runAccepts(other, one) && next))) ||
            (one !== undefined && one === other && !isRun(one) && (rowBelow[column + 1] ?? false));
    }
    rowBelow = currentRow;
  }
  return rowBelow[0] ?? false;
}

function isRun(token: Token | undefined): token is Exclude<Token, string> {
  return typeof token === 'object';
}

function runAccepts(run: Exclude<Token, string>, token: Token | undefined): boolean {
  return typeof token === 'string' && (run.crossesSlash || token !== '/');
}

function tokensOf(pattern: string): Token[] {
  return pattern
    .split(/(\*+)/)
    .flatMap((part): Token[] =>
      part.startsWith('*') ? [{ crossesSlash: part.length > 1 }] : part.split(''),
    );
}
