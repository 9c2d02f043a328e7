import { loadJq } from 'jq-wasm';
import type { Jq } from 'jq-wasm';

import type { JqFailure, JqResult, WorkerSettings } from './protocol.ts';

export interface Interpreter {
  run(filter: string, input: string): JqResult;
  /** Whether the next filter deserves a fresh interpreter. */
  readonly isSpent: boolean;
}

/** The filter is copied to the interpreter's small C stack. */
const filterBytesMax = 16 * 1024;
const messageCharsMax = 500;

/** Exit codes of jq(1): 2 usage, 3 compile, 5 runtime. */
const compileError = 3;

/**
 * One instance of jq in WebAssembly. Its file system is empty and its environment made up, so
 * modules, `env` and `$ENV` have nothing of ours to show. Blocks until the filter ends, however long
 * that takes: only whoever owns the thread can stop it.
 */
export async function createInterpreter(settings: WorkerSettings): Promise<Interpreter> {
  let memory: WebAssembly.Memory | undefined;
  let broken = false;
  const jq = await loadJq({
    instantiateWasm: (imports, onSuccess) => {
      const instance = new WebAssembly.Instance(settings.module, imports);
      memory = findMemory(instance);
      limitMemory(memory, settings.memoryBytesMax);
      onSuccess(instance, settings.module);
    },
  });
  return {
    get isSpent() {
      return broken || (memory?.buffer.byteLength ?? 0) > settings.memoryBytesKept;
    },
    run(filter, input) {
      const unfit = whyUnfit(filter);
      if (unfit !== undefined) return failure('syntax', unfit);
      try {
        return runFilter(jq, { filter, input, outputBytesMax: settings.outputBytesMax });
      } catch {
        // The C program was stopped in the middle of something: allocation, recursion, an assertion.
        broken = true;
        return failure('memory', 'The filter needs too much memory or nests too deeply.');
      }
    },
  };
}

interface Run {
  readonly filter: string;
  readonly input: string;
  readonly outputBytesMax: number;
}

function runFilter(jq: Jq, { filter, input, outputBytesMax }: Run): JqResult {
  // `--`: a filter that starts with a dash is a filter, not an option that may name files.
  const { stdout, stderr, exitCode } = jq.raw(input, filter, ['-c', '--']);
  if (exitCode !== 0)
    return failure(exitCode === compileError ? 'syntax' : 'runtime', tidy(stderr));
  if (Buffer.byteLength(stdout) > outputBytesMax) {
    return failure('too_large', `The filter gives more than ${outputBytesMax} bytes.`);
  }
  // Compact output has a line feed after each value and none within.
  return { ok: true, outputs: stdout === '' ? [] : stdout.split('\n') };
}

function whyUnfit(filter: string): string | undefined {
  if (Buffer.byteLength(filter) > filterBytesMax) {
    return `The filter is longer than ${filterBytesMax} bytes.`;
  }
  // C would stop reading there, and run something else than what was read and approved.
  if (filter.includes('\0')) return 'The filter contains a NUL character.';
  if (!filter.isWellFormed()) return 'The filter contains half of a surrogate pair.';
  return undefined;
}

function failure(reason: JqFailure, message: string): JqResult {
  return { ok: false, reason, message };
}

/** jq's own words without those about its command line. */
function tidy(stderr: string): string {
  const text = stderr
    .replace(/^jq: error(?: \(at [^)]*\))?:? ?/, '')
    .replace(/^jq: /, '')
    .replace(/\njq: \d+ compile errors?$/, '');
  return text.slice(0, messageCharsMax).toWellFormed();
}

function findMemory(instance: WebAssembly.Instance): WebAssembly.Memory {
  const memory = Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory);
  if (memory === undefined) throw new TypeError('jq-wasm exports no memory');
  return memory;
}

/** Emscripten asks this very object to grow; a refusal is to it an allocation that fails. */
function limitMemory(memory: WebAssembly.Memory, bytesMax: number): void {
  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * 65_536 > bytesMax)
      throw new RangeError('too much memory');
    return grow(pages);
  };
}
