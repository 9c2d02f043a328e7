import { createImportPool } from './pool.ts';
import type { ImportPool, ImportPoolOptions } from './pool.ts';
import { looksLikeJson } from './domain/read-text.ts';

const mebibyte = 1024 * 1024;
/**
 * The largest document that an ordinary process imports. A single process with more memory imports
 * larger ones.
 */
const ordinaryBytesMax = { json: 16 * mebibyte, yaml: 4 * mebibyte };

/**
 * Converts documents of OpenAPI 3 or Swagger 2.0 in JSON or YAML to template documents, and reports what was
 * inferred and left out. References to other documents are never fetched. A document that cannot be
 * imported gives a result that says so; the promise is not rejected. Large documents have their own
 * queue, so that small documents need not wait for them.
 */
export function createImporter(options: Pick<ImportPoolOptions, 'execArgv'> = {}): ImportPool {
  const ordinaryPool = createImportPool({
    ...options,
    workers: 2,
    timeoutMs: 20_000,
    heapMib: 384,
  });
  const largePool = createImportPool({
    ...options,
    workers: 1,
    timeoutMs: 120_000,
    heapMib: 1024,
    queueMax: 4,
    // The process ends soon when it is idle, because its heap stays as large as its largest
    // document needed.
    idleMs: 1000,
  });
  return {
    importDocument: (call) => (isLarge(call.text) ? largePool : ordinaryPool).importDocument(call),
    async [Symbol.asyncDispose]() {
      await Promise.all([ordinaryPool[Symbol.asyncDispose](), largePool[Symbol.asyncDispose]()]);
    },
  };
}

function isLarge(text: string | Uint8Array): boolean {
  return text.length > ordinaryBytesMax[looksLikeJson(text) ? 'json' : 'yaml'];
}
