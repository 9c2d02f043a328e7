import { stepsOf } from './pattern-steps.ts';

/** Thrown where finding out could take longer than it may here. */
export class TooCostly extends Error {}

/** What one test may take where nobody has set a budget: some 5 ms. */
const stepsMax = 1_000_000;
let left: number | undefined;

/**
 * Runs what tests expressions, all of them together within the steps of the budget, of which it
 * takes what it needs; throws `TooCostly` before the one that could take more.
 */
export function withinSteps<Result>(budget: { steps: number }, work: () => Result): Result {
  const outer = left;
  left = budget.steps;
  try {
    return work();
  } finally {
    budget.steps = left;
    left = outer;
  }
}

/** Takes steps from the budget. */
export function spendSteps(steps: number): void {
  if (steps > (left ?? stepsMax)) throw new TooCostly();
  if (left !== undefined) left -= steps;
}

/**
 * Regular expressions of templates run on text of agents: one that could backtrack for long is not
 * begun where it would stop a component that decides for everybody.
 */
export class BoundedRegExp {
  readonly #regexp: RegExp;
  readonly #stepsFor: (length: number) => number;

  constructor(pattern: string, flags: string) {
    this.#regexp = compilePattern(pattern, flags);
    this.#stepsFor = stepsOf(pattern, this.#regexp.unicode);
  }

  /** Ajv keeps compiled patterns by this text: without it the first one would serve for all. */
  toString(): string {
    return this.#regexp.toString();
  }

  test(text: string): boolean {
    spendSteps(this.#stepsFor(text.length));
    return this.#regexp.test(text);
  }
}

/** Many documents escape what Unicode mode wants plain (`[\w\-]`, `\/`); such a pattern is read as it was meant. */
export function compilePattern(pattern: string, flags = 'u'): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern, flags.replace('u', ''));
  }
}
