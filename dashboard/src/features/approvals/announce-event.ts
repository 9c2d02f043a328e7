import type { EventType } from '#contracts/event-types';
import { announce } from '../../ui/announcer.tsx';
import { toVisibleText } from '../../ui/visible-characters.ts';
import { spokenSentencesOf } from './spoken-sentences.ts';

/** Lets screen readers read out events that concern every page, such as a new approval. */
export function announceEvent(type: EventType, data: unknown): void {
  if (typeof data !== 'object' || data === null) return;
  const { onEveryPage: everywhere } = spokenSentencesOf(type);
  const sentence = everywhere?.(data as Readonly<Record<string, unknown>>);
  if (sentence !== undefined) announce(toVisibleText(sentence));
}
