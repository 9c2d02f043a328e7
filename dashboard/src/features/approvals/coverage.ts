import type { ApprovalResponse } from '#contracts/http/approvals';
import { needsSecondGesture } from './second-gesture.ts';

const levels = { low: 0, med: 1, high: 2 } as const;

/**
 * The waiting calls that a rule of these keys would cover too, shown before the decision. The
 * gateway decides again and checks more; this list never shows fewer than it allows
 * (docs/reference/approvals.md#cascade).
 */
export function coveredBy(
  keys: readonly string[],
  approval: ApprovalResponse,
  open: readonly ApprovalResponse[],
): ApprovalResponse[] {
  const matchers = keys.map((key) => toMatcher(key, approval.permission_keys.includes(key)));
  return open.filter(
    (other) =>
      other.id !== approval.id &&
      other.placement.id === approval.placement.id &&
      other.service === approval.service &&
      levels[other.risk] <= levels[approval.risk] &&
      other.verified &&
      !needsSecondGesture(other) &&
      other.permission_keys.every((key) => matchers.some((matches) => matches(key))),
  );
}

/** Matches as a rule does; the call's own keys are exact (docs/reference/permissions.md#patterns). */
function toMatcher(pattern: string, isExact: boolean): (key: string) => boolean {
  if (isExact) return (key) => key === pattern;
  const [service = '', action = '', arg = ''] = split(pattern);
  return (key) => {
    const [keyService = '', keyAction = '', keyArg = ''] = split(key);
    return (
      (service === '*' || service === keyService) &&
      (action === '*' || action === keyAction || (action === 'ANY' && service === 'http')) &&
      (arg === '*' || matchesArg(arg, keyArg))
    );
  };
}

function matchesArg(pattern: string, arg: string): boolean {
  const source = pattern
    .split(/(\*\*?)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^/]*' : escape(part)))
    .join('');
  return new RegExp(`^${source}$`, 'su').test(arg);
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** Three segments, split at the first two colons. */
function split(key: string): string[] {
  const first = key.indexOf(':');
  const second = key.indexOf(':', first + 1);
  return [key.slice(0, first), key.slice(first + 1, second), key.slice(second + 1)];
}
