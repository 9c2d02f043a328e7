import { pointerTo } from '../domain/findings.ts';
import type { Path } from '../domain/findings.ts';
import type { ImportFinding } from './imported.ts';

/** Enough to see what is the matter; a large document would otherwise repeat itself for megabytes. */
const perCodeMax = 50;
const messageCharactersMax = 500;

/** Collects what was inferred, changed and left out. */
export interface Notes {
  error(code: ImportFinding['code'], path: Path, message: string): void;
  warn(code: ImportFinding['code'], path: Path, message: string): void;
  info(code: ImportFinding['code'], path: Path, message: string): void;
  list(): ImportFinding[];
}

export function createNotes(): Notes {
  const findings: ImportFinding[] = [];
  const counts = new Map<string, number>();
  const seen = new Set<string>();
  const add =
    (severity: ImportFinding['severity']) =>
    (code: ImportFinding['code'], steps: Path, message: string) => {
      const path = pointerTo(steps).slice(0, 1000);
      const identity = `${code} ${path}`;
      if (seen.has(identity)) return;
      const count = (counts.get(code) ?? 0) + 1;
      counts.set(code, count);
      if (count > perCodeMax) return;
      seen.add(identity);
      findings.push({
        code,
        path,
        message: message.slice(0, messageCharactersMax).toWellFormed(),
        severity,
      });
    };
  return {
    error: add('error'),
    warn: add('warning'),
    info: add('info'),
    list: () => [...findings, ...leftOut(counts)],
  };
}

function leftOut(counts: ReadonlyMap<string, number>): ImportFinding[] {
  return [...counts]
    .filter(([, count]) => count > perCodeMax)
    .map(([code, count]) => ({
      code: 'more_findings',
      path: '',
      message: `There are ${count - perCodeMax} more findings like "${code}".`,
      severity: 'info',
    }));
}
