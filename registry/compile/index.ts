import type { ToolDefinition } from '#contracts/mcp';
import { AppError } from '#errors';
import type { Report } from '../domain/findings.ts';
import type { ReadTool } from '../domain/tool-action.ts';
import type { CompileResult } from '../domain/template.ts';
import { createThreads } from './threads.ts';
import type { Threads } from './threads.ts';

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
const queueMax = 16;

/**
 * Compiles documents on threads of their own: nobody trusts them, some take seconds to be
 * refused, and calls must not wait meanwhile.
 */
export function createCompiler({
  egressAllow,
  timeoutMs = 8_000,
  idleMs = 30_000,
}: CompilerOptions): Compiler {
  const threads = createThreads({ egressAllow, idleMs });
  const queue: (() => void)[] = [];
  let wanted = 0;

  const inTurn = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    if (wanted >= queueMax + threadsMax) {
      throw new AppError('unavailable', 'Too many templates are being checked; try again soon.');
    }
    wanted += 1;
    try {
      if (wanted > threadsMax) await new Promise<void>((resolve) => queue.push(resolve));
      return await work();
    } finally {
      wanted -= 1;
      queue.shift()?.();
    }
  };

  return {
    compile: (document) =>
      inTurn(() => run(threads, document, { timeoutMs, onTooMuch: tooComplex })),
    readTools: (tools) =>
      inTurn(() =>
        run<ToolsJob, ReadTool[]>(threads, { tools }, { timeoutMs, onTooMuch: tooMuch }),
      ),
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  };
}

/** One document on one thread, which is used again unless the document was too much for it. */
async function run<Job extends CompileJob | ToolsJob, Answer = Compiled>(
  threads: Threads,
  job: Job,
  { timeoutMs, onTooMuch }: { timeoutMs: number; onTooMuch: (what: string) => Answer },
): Promise<Answer> {
  const worker = await threads.take();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const giveUp = (what: string) => {
    try {
      resolve(onTooMuch(what));
    } catch (error) {
      reject(error);
    }
  };
  const timer = setTimeout(() => giveUp('took too long'), timeoutMs);
  const onError = (error: Error & { code?: string }) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') giveUp('took too much memory');
    else reject(error);
  };
  const onExit = () => reject(new AppError('unavailable', 'The registry is stopping.'));
  let isHealthy = false;
  const onMessage = (done: Answer) => {
    isHealthy = true;
    resolve(done);
  };
  worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  worker.postMessage(job);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.off('message', onMessage).off('error', onError).off('exit', onExit);
    if (isHealthy) threads.keep(worker);
    else threads.end(worker);
  }
}

function tooComplex(what: string): Compiled {
  const message = `Reading the document ${what}. Keep only the operations you need.`;
  const finding = { code: 'too_complex', message, path: '', line: null } as const;
  const report: Report = { valid: false, errors: [finding], warnings: [] };
  return { report, template: undefined };
}

function tooMuch(what: string): never {
  throw new AppError('response_too_large', `Reading the tools of the MCP server ${what}.`);
}
