import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export type MachinePart =
  | 'network namespaces'
  | 'a disk of its own'
  | 'chromium'
  | 'promtool'
  | 'haproxy'
  | 'helm'
  | 'kubeconform'
  | 'pgbouncer'
  | 'root'
  | 'a terminal';

export interface Need {
  readonly isAvailable: boolean;
  /** Why the machine does not have the part; empty if the machine has the part. */
  readonly reason: string;
  /**
   * A suffix for the test's name that names the missing part; empty if the machine has the part.
   */
  readonly note: string;
}

const reasonChecks: Record<MachinePart, () => string> = {
  'network namespaces': () => {
    try {
      execFileSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
      return '';
    } catch {
      return 'unshare -rn or ip does not work here';
    }
  },
  'a terminal': () => (existsSync('/usr/bin/script') ? '' : 'no script (util-linux) found'),
  'a disk of its own': () => {
    const [command = '', ...args] = withOwnDisk('/tmp', { mebibytes: 1 });
    try {
      execFileSync(command, [...args, 'true'], { stdio: 'ignore' });
      return '';
    } catch {
      return 'unshare --mount or mounting a tmpfs does not work here';
    }
  },
  root: () => (process.geteuid?.() === 0 ? '' : 'these tests run as an ordinary user'),
  promtool: () => findProgramProblem('promtool', '--version'),
  haproxy: () => findProgramProblem('haproxy', '-v'),
  helm: () => findProgramProblem('helm', 'version'),
  kubeconform: () => findProgramProblem('kubeconform', '-v'),
  pgbouncer: () => findProgramProblem('pgbouncer', '--version'),
  chromium: () => {
    const chromiumPaths = [
      process.env['CHROMIUM_PATH'] ?? '',
      '/usr/bin/chromium',
      '/usr/bin/google-chrome',
    ];
    return chromiumPaths.some((place) => place !== '' && existsSync(place))
      ? ''
      : 'no chromium found';
  },
};

function findProgramProblem(program: string, harmlessOption: string): string {
  try {
    execFileSync(program, [harmlessOption], { stdio: 'ignore' });
    return '';
  } catch {
    return `no ${program} on the path`;
  }
}

/**
 * Returns a command that runs another command, given by its last arguments, with a small separate
 * disk mounted at a folder. Other processes reach the disk at `/proc/PID/root`. The disk disappears
 * when the last process that uses it has ended.
 */
export function withOwnDisk(folder: string, { mebibytes }: { mebibytes: number }): string[] {
  const isRoot = process.geteuid?.() === 0;
  const script = `mount -t tmpfs -o size=${mebibytes}m,mode=0755 tmpfs "$0" && exec "$@"`;
  const userOptions = isRoot ? [] : ['--map-current-user', '--keep-caps'];
  return ['unshare', '--mount', ...userOptions, 'sh', '-c', script, folder];
}

/**
 * Tells whether the machine has a part that some tests need. If a test is skipped because of a
 * missing part, its name says so.
 */
export function needs(part: MachinePart): Need {
  const reason = reasonChecks[part]();
  const isAvailable = reason === '';
  return { isAvailable, reason, note: isAvailable ? '' : ` skipped: needs ${part}` };
}
