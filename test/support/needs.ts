import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export type Part = 'network namespaces' | 'chromium' | 'root';

export interface Need {
  readonly available: boolean;
  /** Why it is not; empty when it is. */
  readonly reason: string;
  /** For the end of a test's name: says what it needs, and nothing where that is there. */
  readonly note: string;
}

const checks: Record<Part, () => string> = {
  'network namespaces': () => {
    try {
      execFileSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
      return '';
    } catch {
      return 'unshare -rn or ip does not work here';
    }
  },
  root: () => (process.geteuid?.() === 0 ? '' : 'these tests run as an ordinary user'),
  chromium: () => {
    const places = [
      process.env['CHROMIUM_PATH'] ?? '',
      '/usr/bin/chromium',
      '/usr/bin/google-chrome',
    ];
    return places.some((place) => place !== '' && existsSync(place)) ? '' : 'no chromium found';
  },
};

/** Whether a part of the machine that some tests need is there. A test that lacks it says so in its name. */
export function needs(part: Part): Need {
  const reason = checks[part]();
  const available = reason === '';
  return { available, reason, note: available ? '' : ` skipped: needs ${part}` };
}
