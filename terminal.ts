import { styleText } from 'node:util';

import { hiddenCharacters } from './services-src/hidden-characters/index.ts';
import type { CallReport } from './gateway/records/call-report.ts';

/**
 * The most suspended calls with a remembered name. The name is needed when the approved call is
 * executed. If there are more calls, the oldest name is forgotten.
 */
const rememberedNamesMax = 1_000;
/** Characters that could move the cursor, change colours or hide text on a terminal. */
const unprintable = new RegExp(`[\\p{Cc}\\p{Cs}${hiddenCharacters}]`, 'gu');
const nameCharactersMax = 80;

/**
 * Returns a function that prints a line for each call that changed something, waits for a person or
 * failed. Successful reads are not printed, because the other lines would be lost among them.
 */
export function createCallLines(
  stream: NodeJS.WritableStream,
  now: () => Date = () => new Date(),
): (report: CallReport) => void {
  const names = new Map<string, string>();
  return (report) => {
    const { approvalId, outcome, isResumed, upstreamStatus, ms, approvalUrl } = report;
    const approvalName = approvalId === null ? undefined : names.get(approvalId);
    const name = approvalName ?? nameOf(report);
    if (outcome === 'pending_approval' && approvalId !== null && !isResumed) {
      remember(names, approvalId, name);
    } else if (approvalId !== null && !isResumed) names.delete(approvalId);
    if (!isShown(report)) return;
    const [style, text] = describe(report);
    const parts = [
      styleText('dim', timeOf(now()), { stream }),
      name,
      styleText(style, upstreamStatus === null ? text : `${text} ${upstreamStatus}`, { stream }),
      `${ms} ms`,
      ...(approvalUrl === null ? [] : [approvalUrl]),
    ];
    stream.write(`${parts.join('  ')}\n`);
  };
}

function isShown(report: CallReport): boolean {
  const { outcome, isResumed, changesSomething, upstreamStatus } = report;
  // The outcome of an approved call is printed when the call is executed. A request for its result
  // is printed only when that request itself was refused.
  if (isResumed) return outcome === 'not_found' || outcome === 'forbidden';
  if (outcome !== 'called') return true;
  return changesSomething || (upstreamStatus ?? 0) >= 400;
}

function describe({ outcome, upstreamStatus }: CallReport): ['green' | 'yellow' | 'red', string] {
  if (outcome === 'pending_approval') return ['yellow', 'waits for a person'];
  if (outcome === 'called') return [(upstreamStatus ?? 0) >= 400 ? 'red' : 'green', outcome];
  return ['red', outcome];
}

/** The caller, then the service and action that it calls. */
function nameOf({ caller, service, action, approvalId }: CallReport): string {
  const callerPath = caller.length === 0 ? '-' : caller.map(printable).join('/');
  if (service !== null) return `${callerPath}  ${printable(service)}.${printable(action ?? '')}`;
  return `${callerPath}  ${approvalId === null ? '-' : `approval ${printable(approvalId)}`}`;
}

function printable(text: string): string {
  return text.replaceAll(unprintable, '?').slice(0, nameCharactersMax);
}

function remember(names: Map<string, string>, approvalId: string, name: string): void {
  names.set(approvalId, name);
  const [oldest] = names.keys();
  if (names.size > rememberedNamesMax && oldest !== undefined) names.delete(oldest);
}

function timeOf(date: Date): string {
  return date.toTimeString().slice(0, 8);
}
