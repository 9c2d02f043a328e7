import { loadJq } from 'jq-wasm';
import type { Jq } from 'jq-wasm';

import type { JqFailure, JqResult, WorkerSettings } from './protocol.ts';

export interface Interpreter {
  run(filter: string, input: string): JqResult;
  /** True when this interpreter must not run another filter. */
  readonly isSpent: boolean;
}

/** The filter is copied to the interpreter's C stack, which is small. */
const filterBytesMax = 16 * 1024;
const messageCharactersMax = 500;

/** Exit codes of jq(1): 2 for wrong usage, 3 when the filter does not compile, 5 when it fails. */
const compileErrorCode = 3;

/**
 * One instance of jq in WebAssembly. Its file system is empty and its environment is artificial, so
 * modules, `env` and `$ENV` reveal nothing. A call blocks its thread until the filter ends; the
 * only way to stop a filter earlier is to end the thread.
 */
export async function createInterpreter(settings: WorkerSettings): Promise<Interpreter> {
  let memory: WebAssembly.Memory | undefined;
  let isBroken = false;
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
      return isBroken || (memory?.buffer.byteLength ?? 0) > settings.memoryBytesKept;
    },
    run(filter, input) {
      const filterProblem = findFilterProblem(filter);
      if (filterProblem !== undefined) return failureResultOf('syntax', filterProblem);
      try {
        return runFilter(jq, { filter, input, outputBytesMax: settings.outputBytesMax });
      } catch {
        // The C program was stopped in the middle of an operation, such as an allocation or a
        // recursion.
        isBroken = true;
        return failureResultOf('memory', 'The filter needs too much memory or nests too deeply.');
      }
    },
  };
}

interface FilterRun {
  readonly filter: string;
  readonly input: string;
  readonly outputBytesMax: number;
}

function runFilter(jq: Jq, { filter, input, outputBytesMax }: FilterRun): JqResult {
  // After `--`, a filter that begins with a dash cannot be read as an option that names files.
  const { stdout, stderr, exitCode } = jq.raw(input, filter, ['-c', '--']);
  if (exitCode !== 0)
    return failureResultOf(
      exitCode === compileErrorCode ? 'syntax' : 'runtime',
      shortenMessage(stderr),
    );
  if (Buffer.byteLength(stdout) > outputBytesMax) {
    return failureResultOf('too_large', `The filter gives more than ${outputBytesMax} bytes.`);
  }
  // With the option `-c`, jq prints a line feed after each value and none inside a value.
  return { ok: true, outputs: stdout === '' ? [] : stdout.split('\n') };
}

function findFilterProblem(filter: string): string | undefined {
  if (Buffer.byteLength(filter) > filterBytesMax) {
    return `The filter is longer than ${filterBytesMax} bytes.`;
  }
  // The C program reads a filter only up to the first NUL. It would run a different filter than the
  // approved one.
  if (filter.includes('\0')) return 'The filter contains a NUL character.';
  if (!filter.isWellFormed()) return 'The filter contains half of a surrogate pair.';
  return undefined;
}

function failureResultOf(reason: JqFailure, message: string): JqResult {
  return { ok: false, reason, message };
}

/** Removes the parts of jq's error message that are about the command line. */
function shortenMessage(stderr: string): string {
  const text = stderr
    .replace(/^jq: error(?: \(at [^)]*\))?:? ?/, '')
    .replace(/^jq: /, '')
    .replace(/\njq: \d+ compile errors?$/, '');
  return text.slice(0, messageCharactersMax).toWellFormed();
}

function findMemory(instance: WebAssembly.Instance): WebAssembly.Memory {
  const memory = Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory);
  if (memory === undefined) throw new TypeError('jq-wasm exports no memory');
  return memory;
}

/**
 * Limits the interpreter's memory. Emscripten grows the memory through this object; when growing is
 * refused, the allocation in jq fails.
 */
function limitMemory(memory: WebAssembly.Memory, bytesMax: number): void {
  const grow = memory.grow.bind(memory);
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * 65_536 > bytesMax)
      throw new RangeError('too much memory');
    return grow(pages);
  };
}
