import { publicEventTypes } from '#contracts/events';

/**
 * The event types of a subscription for which none were given (docs/reference/events.md#webhooks).
 */
export const defaultEventPatterns = ['approval.*', 'execution.finished'];

/**
 * Whether one of the patterns matches the type: `approval.raised` matches `approval.raised` and
 * `approval.*`.
 */
export function matchesEventType(eventPatterns: readonly string[], type: string): boolean {
  return eventPatterns.includes(type) || eventPatterns.includes(`${type.split('.')[0]}.*`);
}

/** Returns the patterns that match no public event type. */
export function findUnknownEvents(eventPatterns: readonly string[]): string[] {
  return eventPatterns.filter(
    (pattern) => !publicEventTypes.some((type) => matchesEventType([pattern], type)),
  );
}
