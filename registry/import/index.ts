import { createImportPool } from './pool.ts';
import type { ImportPool, ImportPoolOptions } from './pool.ts';
import { looksLikeJson } from './read-text.ts';

export type { ImportFinding, Imported, ImportedOperation } from './imported.ts';
export type { ImportPool } from './pool.ts';

const mebibyte = 1024 * 1024;
/** Beyond this a document gets a process with more memory, of which there is one only. */
const ordinaryBytesMax = { json: 16 * mebibyte, yaml: 4 * mebibyte };

/**
 * Turns OpenAPI 3.0 or 3.1 documents, JSON or YAML, into template documents with a report of what
 * was inferred and left out. Nothing a document names is ever fetched. What cannot be imported is
 * a value, not an error. Large documents have a queue of their own, so that small ones do not
 * wait for them.
 */
export function createImporter(options: Pick<ImportPoolOptions, 'execArgv'> = {}): ImportPool {
  const ordinary = createImportPool({ ...options, workers: 2, timeoutMs: 20_000, heapMib: 384 });
  const large = createImportPool({
    ...options,
    workers: 1,
    timeoutMs: 120_000,
    heapMib: 1024,
    queueMax: 4,
    // Its heap stays as large as the document made it.
    idleMs: 1000,
  });
  return {
    importDocument: (call) => (isLarge(call.text) ? large : ordinary).importDocument(call),
    async [Symbol.asyncDispose]() {
      await Promise.all([ordinary[Symbol.asyncDispose](), large[Symbol.asyncDispose]()]);
    },
  };
}

function isLarge(text: string | Uint8Array): boolean {
  return text.length > ordinaryBytesMax[looksLikeJson(text) ? 'json' : 'yaml'];
}
