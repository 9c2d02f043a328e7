import { pointerTo } from '../../document/domain/findings.ts';
import type { DocumentPath } from '../../document/domain/findings.ts';
import type { ImportFinding } from './imported.ts';

/**
 * The largest number of findings with one code: large documents repeat the same problem thousands
 * of times.
 */
const findingsPerCodeMax = 50;
const messageCharactersMax = 500;

/** Collects the findings on what the import inferred, changed or left out. */
export interface Notes {
  error(code: ImportFinding['code'], path: DocumentPath, message: string): void;
  warn(code: ImportFinding['code'], path: DocumentPath, message: string): void;
  info(code: ImportFinding['code'], path: DocumentPath, message: string): void;
  list(): ImportFinding[];
}

export function createNotes(): Notes {
  const findings: ImportFinding[] = [];
  const countsByCode = new Map<string, number>();
  const seenNotes = new Set<string>();
  const createAdder =
    (severity: ImportFinding['severity']) =>
    (code: ImportFinding['code'], steps: DocumentPath, message: string) => {
      const path = pointerTo(steps).slice(0, 1000);
      const identity = `${code} ${path}`;
      if (seenNotes.has(identity)) return;
      const count = (countsByCode.get(code) ?? 0) + 1;
      countsByCode.set(code, count);
      if (count > findingsPerCodeMax) return;
      seenNotes.add(identity);
      findings.push({
        code,
        path,
        message: message.slice(0, messageCharactersMax).toWellFormed(),
        severity,
      });
    };
  return {
    error: createAdder('error'),
    warn: createAdder('warning'),
    info: createAdder('info'),
    list: () => [...findings, ...omittedFindingsOf(countsByCode)],
  };
}

function omittedFindingsOf(countsByCode: ReadonlyMap<string, number>): ImportFinding[] {
  return [...countsByCode]
    .filter(([, count]) => count > findingsPerCodeMax)
    .map(([code, count]) => ({
      code: 'more_findings',
      path: '',
      message: `There are ${count - findingsPerCodeMax} more findings like "${code}".`,
      severity: 'info',
    }));
}
