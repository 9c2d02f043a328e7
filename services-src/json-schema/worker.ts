import { parentPort } from 'node:worker_threads';

import { LRUCache } from 'lru-cache';

import type { StepFailure, WorkerJob, WorkerReport } from '../workers/index.ts';
import { describeIssues } from './describe-issues.ts';
import type { SchemaIssue } from './describe-issues.ts';
import { compileSchema } from './find-errors.ts';
import type { FindErrors } from './find-errors.ts';

/** The job's input is a value, checked against the schema of the step before. */
export type CheckStep =
  | { readonly do: 'compile'; readonly schemaText: string }
  | { readonly do: 'check' };

export type CheckReport =
  | { readonly kind: 'compiled' }
  | { readonly kind: 'issues'; readonly issues: readonly SchemaIssue[] }
  /** The schema cannot be compiled. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'failed'; readonly reason: StepFailure };

interface CompiledSchema {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly findErrors: FindErrors;
}

/**
 * A worker thread needs no budget: the deadline ends a check that takes too long, and only its
 * caller waits.
 */
const unboundedBudget = { pairs: Infinity, steps: Infinity };
const compiledSchemas = new LRUCache<string, CompiledSchema>({ max: 50 });

function compileSchemaText(schemaText: string): CompiledSchema {
  const cachedSchema = compiledSchemas.get(schemaText);
  if (cachedSchema !== undefined) return cachedSchema;
  const schema = JSON.parse(schemaText) as CompiledSchema['schema'];
  const compiledSchema = { schema, findErrors: compileSchema(schema) };
  compiledSchemas.set(schemaText, compiledSchema);
  return compiledSchema;
}

if (parentPort !== null) {
  const port = parentPort;
  const sendReport = (result: CheckReport) =>
    port.postMessage({ kind: 'result', result, retire: false } satisfies WorkerReport<CheckReport>);
  port.on('message', ({ steps, input }: WorkerJob<CheckStep>) => {
    let compiledSchema: CompiledSchema | undefined;
    for (const step of steps) {
      try {
        if (step.do === 'compile') {
          compiledSchema = compileSchemaText(step.schemaText);
          sendReport({ kind: 'compiled' });
        } else if (compiledSchema === undefined) {
          sendReport({ kind: 'unusable' });
        } else {
          const { schema, findErrors } = compiledSchema;
          const value: unknown = JSON.parse(input);
          const issues = describeIssues(findErrors(value, unboundedBudget), { schema, value });
          sendReport({ kind: 'issues', issues });
        }
      } catch {
        // The schema cannot be compiled, or is nested too deeply to run.
        sendReport({ kind: 'unusable' });
      }
    }
  });
  port.postMessage({ kind: 'ready' } satisfies WorkerReport<CheckReport>);
}
