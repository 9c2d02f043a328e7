/**
 * The oldest NATS version that works. Below 2.10, a call across accounts to an absent component
 * times out instead of failing at once, and a work queue keeps consumed messages after a kill.
 * 2.10.27 has the security fixes of 2.10.
 */
export const oldestNatsVersion = [2, 10, 27] as const;

/** Whether a NATS server of this version works; `version` is like `2.10.27` or `v2.12.0-beta.1`. */
export function isNatsNewEnough(version: string): boolean {
  const [, ...parts] = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  if (parts.length === 0) return false;
  const foundVersion = parts.map(Number);
  const firstDifferenceIndex = oldestNatsVersion.findIndex((part, at) => part !== foundVersion[at]);
  return (
    firstDifferenceIndex === -1 ||
    (foundVersion[firstDifferenceIndex] ?? 0) > (oldestNatsVersion[firstDifferenceIndex] ?? 0)
  );
}
