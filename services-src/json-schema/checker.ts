import { AppError } from '#errors';
import { WorkerPool, threadStarter } from '../workers/index.ts';
import type { StepFailure } from '../workers/index.ts';
import { TooCostly } from './bounded-regexp.ts';
import { describeIssues } from './describe-issues.ts';
import type { SchemaIssue } from './describe-issues.ts';
import { compileSchema } from './find-errors.ts';
import type { Budget, FindErrors } from './find-errors.ts';
import { weighJson } from './weigh.ts';
import type { CheckStep, CheckReport } from './worker.ts';

type Schema = Readonly<Record<string, unknown>>;

/** What is wrong with a value, said so that its sender can mend it; empty when it meets the schema. */
export type CheckValue = (
  value: unknown,
  /** Whom it is for: when many wait for a thread, each takes its turn. */
  owner: string,
) => SchemaIssue[] | Promise<SchemaIssue[]>;

/**
 * Checks values against schemas that anybody may have written. What is certain to take no longer
 * than a few milliseconds is done here; the rest on threads, with a deadline that holds.
 */
export interface SchemaChecker extends AsyncDisposable {
  /** Made once per schema, and kept. */
  compile(schema: Schema): CheckValue;
}

export interface SchemaCheckerOptions {
  /** Wall time of checking one value, on a thread. */
  readonly timeoutMs?: number;
  readonly workers?: number;
  /** How long a check waits for a thread: no longer than its caller waits for the answer. */
  readonly waitMs?: number;
}

/** A schema of more parts takes longer to compile than may be spent here. */
export const inlineSchemaWeightMax = 200;
/** Some 5 ms each at most. */
const inlineBudget = { pairs: 50_000, steps: 500_000 };

export function createInlineBudget(): Budget {
  return { ...inlineBudget };
}

/** Once for each schema and thread. */
const compileTimeoutMs = 10_000;

export function createSchemaChecker(options: SchemaCheckerOptions = {}): SchemaChecker {
  const { timeoutMs = 2_000, workers, waitMs = 4_500 } = options;
  const pool = new WorkerPool<CheckStep, CheckReport>({
    workers,
    queueMax: 128,
    replaces: true,
    waitMs,
    prepare: () => threadStarter(new URL('worker.ts', import.meta.url), { heapMib: 192 }),
    failed: (reason) => ({ kind: 'failed', reason }),
  });
  const checkOnThread = async (schemaText: string, value: unknown, owner: string) => {
    const [compiled, checked] = await pool.run({
      steps: [{ do: 'compile', schemaText }, { do: 'check' }],
      input: JSON.stringify(value),
      timeoutMs: (step) => (step.do === 'compile' ? compileTimeoutMs : timeoutMs),
      owner,
    });
    if (compiled?.kind === 'failed' && isTooMuch(compiled.reason)) throw unusable();
    return issuesOf(checked ?? { kind: 'failed', reason: 'busy' });
  };
  return {
    compile(schema) {
      const isLarge = weighJson(schema, inlineSchemaWeightMax + 1) > inlineSchemaWeightMax;
      let findErrors: FindErrors | undefined;
      let schemaText: string | undefined;
      return (value, owner) => {
        try {
          if (isLarge) throw new TooCostly();
          findErrors ??= compileSchema(schema);
          return describeIssues(findErrors(value, createInlineBudget()), { schema, value });
        } catch (thrown) {
          if (!(thrown instanceof TooCostly)) throw thrown;
          schemaText ??= JSON.stringify(schema);
          return checkOnThread(schemaText, value, owner);
        }
      };
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

function issuesOf(report: CheckReport): SchemaIssue[] {
  if (report.kind === 'issues') return [...report.issues];
  if (report.kind !== 'failed') throw unusable();
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

/** The schema or the value was too much for a thread; `busy` says that only the queue was full. */
function isTooMuch(reason: StepFailure): boolean {
  return ['timeout', 'crashed', 'out_of_memory'].includes(reason);
}

function unusable(): AppError {
  return new AppError(
    'template_invalid',
    'The schema of this action is too complex to be checked. Its template has to describe it more simply.',
  );
}
