import type { ToolDefinition } from '#contracts/mcp';
import { AppError } from '#errors';
import { WorkerPool, threadStarter } from '#workers';
import type { StepFailure } from '#workers';
import type { Report } from '../document/domain/findings.ts';
import type { ReadTool } from './domain/tool-action.ts';
import type { CompileResult } from './domain/template.ts';

/**
 * The data that each thread gets when it starts. A thread cannot read the setting EGRESS_ALLOW
 * itself.
 */
export interface ThreadData {
  readonly egressAllow: string;
}

/**
 * Asks a thread to read the tool definitions of an MCP server. The other kind of job is
 * `CompileJob`.
 */
export interface ToolsJob {
  readonly tools: readonly ToolDefinition[];
}

export interface CompileJob {
  readonly text: string;
  readonly tier: 'user' | 'org';
  readonly ownerId: string;
}

export type CompiledDocument = Pick<CompileResult, 'report' | 'template'>;

export type CompileOutcome =
  | { readonly kind: 'compiled'; readonly compiled: CompiledDocument }
  | { readonly kind: 'tools'; readonly tools: ReadTool[] }
  | { readonly kind: 'ended'; readonly reason: StepFailure; readonly cause: Error | undefined };

/**
 * Compiles a document that an author wrote. The version number in the result is provisional: saving
 * the template assigns the real one. Throws `unavailable` when the queue is full.
 */
export type Compile = (document: CompileJob, options?: Turn) => Promise<CompiledDocument>;

/**
 * Reads the tool definitions of an MCP server; throws `response_too_large` when reading them takes
 * too long or too much memory.
 */
export type ReadTools = (
  definitions: readonly ToolDefinition[],
  options?: Turn,
) => Promise<ReadTool[]>;

/** The user or org for which a thread works. They take turns, and none gets all threads. */
interface Turn {
  readonly owner: string;
}

export interface Compiler extends AsyncDisposable {
  readonly compile: Compile;
  readonly readTools: ReadTools;
}

interface CompilerOptions {
  /** The setting EGRESS_ALLOW: the hosts that the gateway may call by plain http. */
  readonly egressAllow: string;
  readonly timeoutMs?: number;
  /** A thread ends after it was idle for this time. */
  readonly idleMs?: number;
}

const threadsMax = 2;
const heapMib = 256;
/** The most jobs that may wait. A quarter of them may belong to one user. */
const waitingJobsMax = 32;

/**
 * Compiles documents on separate threads. Documents are untrusted and checking one can take
 * seconds; on the main thread, all calls would wait for it.
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
    queueMax: waitingJobsMax,
    idleMs,
    prepare: () => threadStarter(script, { heapMib, youngMib: 32, workerData }),
    createFailedResult: (reason, cause) => ({ kind: 'ended', reason, cause }),
  });
  const runCompiler = async (
    job: CompileJob | ToolsJob,
    { owner }: Partial<Turn> = {},
  ): Promise<CompileOutcome> => {
    const [outcome] = await pool.run({
      steps: [job],
      input: '',
      owner,
      timeoutMs: () => timeoutMs,
    });
    return outcome!;
  };
  return {
    async compile(document, turn) {
      const outcome = await runCompiler(document, turn);
      return outcome.kind === 'compiled'
        ? outcome.compiled
        : tooComplexResult(exceededLimitOf(outcome));
    },
    async readTools(tools, turn) {
      const outcome = await runCompiler({ tools }, turn);
      if (outcome.kind === 'tools') return outcome.tools;
      const message = `Reading the tools of the MCP server ${exceededLimitOf(outcome)}.`;
      throw new AppError('response_too_large', message);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/**
 * Returns which limit the document exceeded; throws when the compiler failed for another reason.
 */
function exceededLimitOf(outcome: CompileOutcome): string {
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

function tooComplexResult(description: string): CompiledDocument {
  const message = `Reading the document ${description}. Keep only the operations you need.`;
  const limitFinding = { code: 'too_complex', message, path: '', line: null } as const;
  const report: Report = { valid: false, errors: [limitFinding], warnings: [] };
  return { report, template: undefined };
}
