import type { ToolDefinition } from '#contracts/mcp';
import { AppError } from '#errors';
import { WorkerPool, threadStarter } from '#workers';
import type { StepFailure } from '#workers';
import type { Report } from '../domain/findings.ts';
import type { ReadTool } from '../domain/tool-action.ts';
import type { CompileResult } from '../domain/template.ts';

/** Setting EGRESS_ALLOW, of which a thread has no other way to know. */
export interface ThreadData {
  readonly egressAllow: string;
}

/** What a thread is given; it answers in kind. */
export interface ToolsJob {
  readonly tools: readonly ToolDefinition[];
}

export interface CompileJob {
  readonly text: string;
  readonly tier: 'user' | 'org';
  readonly ownerId: string;
}

export type Compiled = Pick<CompileResult, 'report' | 'template'>;

export type CompileOutcome =
  | { readonly kind: 'compiled'; readonly compiled: Compiled }
  | { readonly kind: 'tools'; readonly tools: ReadTool[] }
  | { readonly kind: 'ended'; readonly reason: StepFailure; readonly cause: Error | undefined };

/**
 * Compiles what an author wrote; its version is decided when it is saved. Throws `unavailable`
 * when too many documents wait already.
 */
export type Compile = (document: CompileJob) => Promise<Compiled>;

/** Reads what an MCP server says of its tools; throws `response_too_large` when that takes too much. */
export type ReadTools = (definitions: readonly ToolDefinition[]) => Promise<ReadTool[]>;

export interface Compiler extends AsyncDisposable {
  readonly compile: Compile;
  readonly readTools: ReadTools;
}

interface CompilerOptions {
  /** Setting EGRESS_ALLOW: where plain http is allowed. */
  readonly egressAllow: string;
  readonly timeoutMs?: number;
  /** A thread without work ends after this long. */
  readonly idleMs?: number;
}

const threadsMax = 2;
const heapMib = 256;
const waitingMax = 18;

/**
 * Compiles documents on threads of their own: nobody trusts them, some take seconds to be
 * refused, and calls must not wait meanwhile.
 */
export function createCompiler({
  egressAllow,
  timeoutMs = 8_000,
  idleMs = 30_000,
}: CompilerOptions): Compiler {
  const script = new URL('worker.ts', import.meta.url);
  const workerData: ThreadData = { egressAllow };
  const pool = new WorkerPool<CompileJob | ToolsJob, CompileOutcome>({
    workers: threadsMax,
    queueMax: waitingMax,
    idleMs,
    prepare: () => threadStarter(script, { heapMib, youngMib: 32, workerData }),
    failed: (reason, cause) => ({ kind: 'ended', reason, cause }),
  });
  const run = async (job: CompileJob | ToolsJob): Promise<CompileOutcome> => {
    const [outcome] = await pool.run({
      steps: [job],
      input: '',
      timeoutMs: () => timeoutMs,
    });
    return outcome!;
  };
  return {
    async compile(document) {
      const outcome = await run(document);
      return outcome.kind === 'compiled' ? outcome.compiled : tooComplex(tooMuchOf(outcome));
    },
    async readTools(tools) {
      const outcome = await run({ tools });
      if (outcome.kind === 'tools') return outcome.tools;
      const message = `Reading the tools of the MCP server ${tooMuchOf(outcome)}.`;
      throw new AppError('response_too_large', message);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** What a document was too much in; throws when it was not the document's fault. */
function tooMuchOf(outcome: CompileOutcome): string {
  if (outcome.kind !== 'ended') throw new Error('the answer belongs to another kind of job');
  const { reason, cause } = outcome;
  if (reason === 'timeout') return 'took too long';
  if (reason === 'out_of_memory') return 'took too much memory';
  if (reason === 'crashed') throw new Error('The compiler ended by itself.', { cause });
  if (reason === 'closed') throw new AppError('unavailable', 'The registry is stopping.');
  if (reason === 'not_started') {
    throw new AppError('unavailable', 'Templates cannot be checked now; try again soon.', {
      cause,
    });
  }
  throw new AppError('unavailable', 'Too many templates are being checked; try again soon.');
}

function tooComplex(what: string): Compiled {
  const message = `Reading the document ${what}. Keep only the operations you need.`;
  const finding = { code: 'too_complex', message, path: '', line: null } as const;
  const report: Report = { valid: false, errors: [finding], warnings: [] };
  return { report, template: undefined };
}
