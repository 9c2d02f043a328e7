import { readFile, writeFile } from 'node:fs/promises';

const reportFile = 'docs/performance.md';
/** The sections after the report of `npm run bench`, in their order; other benchmarks write them. */
const sections = ['Life', 'Telemetry', 'Scale', 'Other gateways', 'Faults', 'Pages'] as const;
type Section = (typeof sections)[number];

/**
 * Writes the report of `npm run bench` to docs/performance.md, or the section of another benchmark.
 * Keeps the parts that other benchmarks have written.
 */
export async function writeReportPart(part: 'report' | Section, text: string): Promise<void> {
  const textByPart = new Map<string, string>();
  let name: string = 'report';
  for (const line of (await readFile(reportFile, 'utf8')).trimEnd().split('\n')) {
    name = sections.find((section) => line === headingOf(section)) ?? name;
    textByPart.set(name, `${textByPart.get(name) ?? ''}${line}\n`);
  }
  textByPart.set(part, part === 'report' ? text : `${headingOf(part)}\n${text}`);
  const writtenText = ['report', ...sections].flatMap(
    (each) => textByPart.get(each)?.trimEnd() ?? [],
  );
  await writeFile(reportFile, `${writtenText.join('\n\n')}\n`);
}

function headingOf(section: Section): string {
  return `## ${section}`;
}
