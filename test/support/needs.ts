import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export type Part = 'network namespaces' | 'chromium';

export interface Need {
  readonly available: boolean;
  /** Why it is not; empty when it is. */
  readonly reason: string;
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
  return { available: reason === '', reason };
}
