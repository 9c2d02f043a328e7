import type { EventType } from '../../api/event-stream.ts';
import { announce } from '../../ui/announcer.tsx';
import { visibleText } from '../../ui/visible-characters.ts';

/** Reads out what others start; the end of one's own decisions is read out by the card. */
export function announceEvent(type: EventType, data: unknown): void {
  if (type !== 'approval.raised' || typeof data !== 'object' || data === null) return;
  const { action_description: description } = data as { action_description?: unknown };
  if (typeof description === 'string') announce(`New approval: ${visibleText(description)}`);
}
