/**
 * The clock of CPU time may advance in steps of 10 ms. So a measurement must take at least this
 * long to be accurate.
 */
const measuredMsMin = 60;
const runsMax = 100_000;

/**
 * The CPU time in milliseconds that one run of `work` uses in this thread. Unlike elapsed time, CPU
 * time does not depend on the machine's other load.
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
 * The most CPU time that the handling of a text may use: twenty times the CPU time of parsing it as
 * JSON, plus a constant that any small request may use.
 */
export function allowedMsOf(text: string): number {
  return 2 + 20 * cpuMsOf(() => JSON.parse(text));
}
