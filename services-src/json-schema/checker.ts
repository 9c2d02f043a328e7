import { AppError } from '#errors';
import { WorkerPool, threadStarter } from '../workers/index.ts';
import type { StepFailure, WorkerTask } from '../workers/index.ts';
import { TooCostly } from './bounded-regexp.ts';
import { describeIssues } from './describe-issues.ts';
import type { SchemaIssue } from './describe-issues.ts';
import { compileSchema } from './find-errors.ts';
import type { Budget, FindErrors } from './find-errors.ts';
import { weighJson } from './weigh.ts';
import type { CheckStep, CheckReport } from './worker.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Checks a value and returns its issues, in words that help its sender to correct it; empty when
 * the value meets the schema.
 */
export type CheckValue = (
  value: unknown,
  /**
   * The user that the check is for: when many checks wait for a thread, users take turns, and so do
   * the identities of a user.
   */
  owner: string,
  identity?: string,
) => SchemaIssue[] | Promise<SchemaIssue[]>;

/**
 * Checks values against schemas from untrusted sources. A check that is certain to take at most a
 * few milliseconds runs on this thread; other checks run on worker threads, with a deadline that
 * ends them.
 */
export interface SchemaChecker extends AsyncDisposable {
  /** Compiles a schema. Call it once per schema, and keep the result. */
  compile(schema: Schema): CheckValue;
}

export interface SchemaCheckerOptions {
  /** The wall time that checking one value on a worker thread may take. */
  readonly timeoutMs?: number;
  readonly workers?: number;
  /**
   * How long a check may wait for a free thread; it should not exceed the time that its caller
   * waits for the answer.
   */
  readonly waitMs?: number;
}

/**
 * The weight above which a schema is not compiled on this thread, because that would take too long.
 */
export const inlineSchemaWeightMax = 200;
/** The budget of a check on this thread; each of the two parts takes at most some 5 ms. */
const inlineBudget = { pairs: 50_000, steps: 500_000 };

export function createInlineBudget(): Budget {
  return { ...inlineBudget };
}

/** Each thread compiles each schema only once, so this may take long. */
const compileTimeoutMs = 10_000;

export function createSchemaChecker(options: SchemaCheckerOptions = {}): SchemaChecker {
  const { timeoutMs = 2_000, workers, waitMs = 4_500 } = options;
  const pool = new WorkerPool<CheckStep, CheckReport>({
    workers,
    queueMax: 128,
    replaces: true,
    waitMs,
    prepare: () => threadStarter(new URL('worker.ts', import.meta.url), { heapMib: 192 }),
    createFailedResult: (reason) => ({ kind: 'failed', reason }),
  });
  const checkOnThread = async (
    schemaText: string,
    value: unknown,
    by: Pick<WorkerTask<CheckStep>, 'owner' | 'identity'>,
  ) => {
    const [compiled, checked] = await pool.run({
      steps: [{ do: 'compile', schemaText }, { do: 'check' }],
      input: JSON.stringify(value),
      timeoutMs: (step) => (step.do === 'compile' ? compileTimeoutMs : timeoutMs),
      ...by,
    });
    if (compiled?.kind === 'failed' && isTooMuch(compiled.reason)) throw unusableSchema();
    return issuesOf(checked ?? { kind: 'failed', reason: 'busy' });
  };
  return {
    compile(schema) {
      const isLarge = weighJson(schema, inlineSchemaWeightMax + 1) > inlineSchemaWeightMax;
      let findErrors: FindErrors | undefined;
      let schemaText: string | undefined;
      return (value, owner, identity) => {
        try {
          if (isLarge) throw new TooCostly();
          findErrors ??= compileSchema(schema);
          return describeIssues(findErrors(value, createInlineBudget()), { schema, value });
        } catch (error) {
          if (!(error instanceof TooCostly)) throw error;
          schemaText ??= JSON.stringify(schema);
          return checkOnThread(schemaText, value, { owner, identity });
        }
      };
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

function issuesOf(report: CheckReport): SchemaIssue[] {
  if (report.kind === 'issues') return [...report.issues];
  if (report.kind !== 'failed') throw unusableSchema();
  if (isTooMuch(report.reason)) {
    const message =
      'take longer to check against the schema of this action than a call may; send fewer or shorter values';
    return [{ path: 'params', message }];
  }
  throw new AppError(
    'unavailable',
    'Too many large calls are being checked. Nothing was sent; try again shortly.',
    { details: { component: 'policy', busy: true } },
  );
}

/**
 * Whether the schema or the value was too much for a thread; `busy` only says that the queue was
 * full.
 */
function isTooMuch(reason: StepFailure): boolean {
  return ['timeout', 'crashed', 'out_of_memory'].includes(reason);
}

function unusableSchema(): AppError {
  return new AppError(
    'template_invalid',
    'The schema of this action is too complex to be checked. Its template has to describe it more simply.',
  );
}
