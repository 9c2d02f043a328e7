import { stepsOf } from './pattern-steps.ts';

/** Thrown in place of running a check that could exceed its budget. */
export class TooCostly extends Error {}

/** The steps that one test may take when there is no budget: some 5 ms. */
const stepsMax = 1_000_000;
let stepsLeft: number | undefined;

/**
 * Runs `work`, whose regular expressions may together take the steps of the budget; their steps are
 * subtracted from it. Throws `TooCostly` before running an expression that could take more.
 */
export function runWithinSteps<Result>(budget: { steps: number }, work: () => Result): Result {
  const outerStepsLeft = stepsLeft;
  stepsLeft = budget.steps;
  try {
    return work();
  } finally {
    budget.steps = stepsLeft;
    stepsLeft = outerStepsLeft;
  }
}

/** Subtracts steps from the current budget. */
export function spendSteps(steps: number): void {
  if (steps > (stepsLeft ?? stepsMax)) throw new TooCostly();
  if (stepsLeft !== undefined) stepsLeft -= steps;
}

/**
 * A regular expression from a template, which runs on text from agents. It is not run when
 * backtracking could take too long, because this thread decides the calls of all callers and one
 * slow call would delay all others.
 */
export class BoundedRegExp {
  readonly #regexp: RegExp;
  readonly #stepsFor: (length: number) => number;

  constructor(pattern: string, flags: string) {
    this.#regexp = compilePattern(pattern, flags);
    this.#stepsFor = stepsOf(pattern, this.#regexp.unicode);
  }

  /**
   * Ajv caches compiled patterns by this text. Without this method, all patterns would have one
   * text and the first would be used for all.
   */
  toString(): string {
    return this.#regexp.toString();
  }

  test(text: string): boolean {
    spendSteps(this.#stepsFor(text.length));
    return this.#regexp.test(text);
  }
}

/**
 * Compiles a pattern. Many documents escape characters that Unicode mode does not allow to be
 * escaped (`[\w\-]`, `\/`); their evident meaning is used.
 */
export function compilePattern(pattern: string, flags = 'u'): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern, flags.replace('u', ''));
  }
}
