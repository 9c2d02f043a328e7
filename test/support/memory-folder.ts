import { readFileSync, statfsSync } from 'node:fs';

const gibibyte = 2 ** 30;
/** Several times what a test run writes at most, and what the programs of the tests need beside it. */
const bytesMin = 6 * gibibyte;

/**
 * The folder in memory for the temporary files of tests. Null on a machine that has no such folder,
 * or too little free memory. Each test file creates a database of 700 files, which on a disk takes
 * longer than most tests.
 */
export function findMemoryFolder(): string | null {
  const folder = '/dev/shm';
  try {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
    const options = mounts.findLast((line) => line.split(' ')[1] === folder)?.split(' ')[3];
    // Some tests create programs and run them.
    if (options === undefined || options.split(',').includes('noexec')) return null;
    const { bavail, bsize } = statfsSync(folder);
    const bytesFree = Math.min(bavail * bsize, process.availableMemory());
    return bytesFree >= bytesMin ? folder : null;
  } catch {
    return null;
  }
}
