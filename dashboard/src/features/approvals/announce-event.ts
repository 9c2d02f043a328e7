import type { EventType } from '#contracts/event-types';
import { announce } from '../../ui/announcer.tsx';
import { toVisibleText } from '../../ui/visible-characters.ts';
import { spokenSentencesOf } from './spoken-sentences.ts';

/** Has screen readers read out what concerns every page, such as that a new approval has come. */
export function announceEvent(type: EventType, data: unknown): void {
  if (typeof data !== 'object' || data === null) return;
  const { onEveryPage: everywhere } = spokenSentencesOf(type);
  const sentence = everywhere?.(data as Readonly<Record<string, unknown>>);
  if (sentence !== undefined) announce(toVisibleText(sentence));
}
