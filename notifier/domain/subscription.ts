import { publicEventTypes } from '#contracts/events';

/** The events of a subscription that names none (docs/reference/events.md#webhooks). */
export const defaultEvents = ['approval.*', 'execution.finished'];

/** `approval.raised` is matched by itself and by `approval.*`. */
export function subscribes(events: readonly string[], type: string): boolean {
  return events.includes(type) || events.includes(`${type.split('.')[0]}.*`);
}

/** Patterns that match no event that subscribers can see. */
export function unknownEvents(events: readonly string[]): string[] {
  return events.filter((pattern) => !publicEventTypes.some((type) => subscribes([pattern], type)));
}
