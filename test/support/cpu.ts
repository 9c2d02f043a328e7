/** Shorter than this a measurement says little: the clock of CPU time may advance in steps of 10 ms. */
const measuredMsMin = 60;
const runsMax = 100_000;

/**
 * CPU time of this thread in milliseconds that one run takes, which other work of the machine does
 * not lengthen.
 */
export function cpuMsOf(work: () => unknown, measuredMs = measuredMsMin): number {
  work();
  const before = process.threadCpuUsage();
  for (let runs = 1; ; runs += 1) {
    work();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms >= measuredMs || runs === runsMax) return ms / runs;
  }
}

/** What handling a text may cost: twenty times what parsing it as JSON does, and what a small request costs anyhow. */
export function allowedMsOf(text: string): number {
  return 2 + 20 * cpuMsOf(() => JSON.parse(text));
}
