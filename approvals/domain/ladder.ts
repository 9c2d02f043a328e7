import type { Gap } from '#contracts/permit';

/** One ancestor that could decide, as policy found it when the call was made. */
export type LadderStep = Gap['ladder'][number];

/**
 * Whom we ask first: the nearest ancestor whose authority covers every uncovered key, otherwise
 * the user, who stands last. With `straightToUser` nobody below the user is asked.
 */
export function firstResolver(
  ladder: readonly LadderStep[],
  { straightToUser }: { straightToUser: boolean },
): LadderStep {
  const top = topOf(ladder);
  return (straightToUser ? undefined : ladder.find((step) => step.covers)) ?? top;
}

/** Who is asked after `currentId`; undefined at the top. */
export function nextResolver(
  ladder: readonly LadderStep[],
  currentId: string,
): LadderStep | undefined {
  const top = topOf(ladder);
  if (currentId === top.id) return undefined;
  const above = ladder.slice(ladder.findIndex((step) => step.id === currentId) + 1);
  return above.find((step) => step.covers) ?? top;
}

function topOf(ladder: readonly LadderStep[]): LadderStep {
  const top = ladder.at(-1);
  if (!top) throw new Error('a ladder has at least the user');
  return top;
}
