import type { Gap } from '#contracts/permit';

/**
 * An ancestor of the requester that may be able to decide. Policy lists these ancestors when the
 * call is made.
 */
export type LadderStep = Gap['ladder'][number];

/**
 * The identity that is asked first: the nearest ancestor whose authority covers every uncovered
 * permission key, otherwise the user at the end of the list. With `straightToUser` it is always the
 * user.
 */
export function firstResolverOf(
  ladder: readonly LadderStep[],
  { straightToUser }: { straightToUser: boolean },
): LadderStep {
  const topStep = topStepOf(ladder);
  return (straightToUser ? undefined : ladder.find((step) => step.covers)) ?? topStep;
}

/**
 * The next resolver above the resolver with the id `currentId`; undefined when none is above it.
 */
export function findNextResolver(
  ladder: readonly LadderStep[],
  currentId: string,
): LadderStep | undefined {
  const topStep = topStepOf(ladder);
  if (currentId === topStep.id) return undefined;
  const stepsAbove = ladder.slice(ladder.findIndex((step) => step.id === currentId) + 1);
  return stepsAbove.find((step) => step.covers) ?? topStep;
}

function topStepOf(ladder: readonly LadderStep[]): LadderStep {
  const topStep = ladder.at(-1);
  if (!topStep) throw new Error('a ladder has at least the user');
  return topStep;
}
