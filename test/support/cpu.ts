/**
 * The clock of CPU time may advance in steps of 10 ms, so shorter measurements are not accurate.
 */
const measuredMsMin = 60;
const runsMax = 100_000;

/**
 * The CPU time in milliseconds that one run of `work` takes in this thread. Unlike elapsed time, it
 * does not grow with the machine's other load.
 */
export function cpuMsOf(work: () => unknown, measuredMs = measuredMsMin): number {
  work();
  const usageBefore = process.threadCpuUsage();
  for (let runCount = 1; ; runCount += 1) {
    work();
    const { user, system } = process.threadCpuUsage(usageBefore);
    const ms = (user + system) / 1_000;
    if (ms >= measuredMs || runCount === runsMax) return ms / runCount;
  }
}

/**
 * The most CPU time that handling a text may take: twenty times the time to parse it as JSON, plus
 * a constant for any small request.
 */
export function allowedMsOf(text: string): number {
  return 2 + 20 * cpuMsOf(() => JSON.parse(text));
}
