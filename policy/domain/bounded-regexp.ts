import { Script, createContext } from 'node:vm';

/**
 * Regular expressions of templates run on text of agents: one that backtracks without end must
 * not stop a component that decides for everybody. What is short and simple runs as it is; the
 * rest in a context that V8 interrupts, at some 0.2 ms each.
 */
export class BoundedRegExp {
  readonly #regexp: RegExp;
  readonly #isSimple: boolean;

  constructor(pattern: string, flags: string) {
    this.#regexp = new RegExp(pattern, flags);
    // One repetition, and none of a group, takes at most quadratic time.
    const repetitions = pattern.replaceAll(/\\./g, '').match(/[*+]|\{\d*,\d*\}/g)?.length ?? 0;
    this.#isSimple = repetitions <= 1 && !/\)(?:[*+]|\{)/.test(pattern);
  }

  /** Ajv keeps compiled patterns by this text: without it the first one would serve for all. */
  toString(): string {
    return this.#regexp.toString();
  }

  /** A pattern that takes too long does not match: what nobody can check is not let through. */
  test(text: string): boolean {
    if (this.#isSimple && text.length <= SIMPLE_CHARACTERS_MAX) return this.#regexp.test(text);
    sandbox.regexp = this.#regexp;
    sandbox.text = text;
    try {
      return runBounded();
    } finally {
      sandbox.text = '';
    }
  }
}

function runBounded(): boolean {
  for (let attempt = 1; ; attempt += 1) {
    const before = process.threadCpuUsage();
    try {
      return script.runInContext(context, { timeout: TIMEOUT_MS }) === true;
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const { user, system } = process.threadCpuUsage(before);
      // V8 counts time on the wall: on a busy machine that passes without this thread as well.
      if (user + system >= BUSY_US || attempt === ATTEMPTS_MAX) return false;
    }
  }
}

const SIMPLE_CHARACTERS_MAX = 1_000;
const TIMEOUT_MS = 50;
/** Of its timeout; far more than anything takes that ends at all. */
const BUSY_US = 25_000;
const ATTEMPTS_MAX = 5;
const TIMEOUT_CODE = 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/** The error comes from the other context, so it is no `instanceof` our `Error`. */
function isTimeout(error: unknown): boolean {
  return (
    error !== null && typeof error === 'object' && 'code' in error && error.code === TIMEOUT_CODE
  );
}

const sandbox: { regexp: RegExp | null; text: string } = { regexp: null, text: '' };
const context = createContext(sandbox);
const script = new Script('regexp.test(text)');
