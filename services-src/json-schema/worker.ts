import { parentPort } from 'node:worker_threads';

import { LRUCache } from 'lru-cache';

import type { StepFailure, WorkerJob, WorkerReport } from '../workers/index.ts';
import { describeIssues } from './describe-issues.ts';
import type { SchemaIssue } from './describe-issues.ts';
import { compileSchema } from './find-errors.ts';
import type { FindErrors } from './find-errors.ts';

/** A value, the input of the job, is checked by the schema of the step before. */
export type CheckStep =
  | { readonly do: 'compile'; readonly schemaText: string }
  | { readonly do: 'check' };

export type CheckReport =
  | { readonly kind: 'compiled' }
  | { readonly kind: 'issues'; readonly issues: readonly SchemaIssue[] }
  /** No validator can be made of the schema. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'failed'; readonly reason: StepFailure };

interface Compiled {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly findErrors: FindErrors;
}

/** No budget on a thread: the deadline ends what takes too long, and only its caller waits. */
const unbounded = { pairs: Infinity, steps: Infinity };
const cache = new LRUCache<string, Compiled>({ max: 50 });

function compile(schemaText: string): Compiled {
  const known = cache.get(schemaText);
  if (known !== undefined) return known;
  const schema = JSON.parse(schemaText) as Compiled['schema'];
  const compiled = { schema, findErrors: compileSchema(schema) };
  cache.set(schemaText, compiled);
  return compiled;
}

if (parentPort !== null) {
  const port = parentPort;
  const report = (result: CheckReport) =>
    port.postMessage({ kind: 'result', result, retire: false } satisfies WorkerReport<CheckReport>);
  port.on('message', ({ steps, input }: WorkerJob<CheckStep>) => {
    let compiled: Compiled | undefined;
    for (const step of steps) {
      try {
        if (step.do === 'compile') {
          compiled = compile(step.schemaText);
          report({ kind: 'compiled' });
        } else if (compiled === undefined) {
          report({ kind: 'unusable' });
        } else {
          const { schema, findErrors } = compiled;
          const value: unknown = JSON.parse(input);
          const issues = describeIssues(findErrors(value, unbounded), { schema, value });
          report({ kind: 'issues', issues });
        }
      } catch {
        // Of a schema that cannot be compiled, or that is nested too deeply to run.
        report({ kind: 'unusable' });
      }
    }
  });
  port.postMessage({ kind: 'ready' } satisfies WorkerReport<CheckReport>);
}
