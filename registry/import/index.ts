import type { Imported } from './imported.ts';
import { createImportPool } from './pool.ts';
import type { ImportCall, ImportPool, ImportPoolOptions } from './pool.ts';

import { looksLikeJson } from './read-text.ts';

export type { ImportFinding, Imported, ImportedOperation } from './imported.ts';

const mebibyte = 1024 * 1024;
/** Beyond this a document gets a process with more memory, of which there is one only. */
const ordinaryBytesMax = { json: 16 * mebibyte, yaml: 4 * mebibyte };

/** A queue of large documents must not keep the small ones waiting. */
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

const shared = createImporter();

/**
 * Turns an OpenAPI 3.0 or 3.1 document, JSON or YAML, into a template document with a report of
 * what was inferred and left out. Nothing the document names is ever fetched. What cannot be
 * imported is a value, not an error; throws `unavailable` when too many imports wait already.
 * Processes are started when needed and end by themselves.
 */
export function importDocument(call: ImportCall): Promise<Imported> {
  return shared.importDocument(call);
}
