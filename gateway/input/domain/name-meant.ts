import { nameReference } from '#contracts/vocabulary';

/**
 * The name of a service that a text means which is none because of its capital letters or what
 * separates its words: `google_calendar` for `Google Calendar`. Undefined when that is no name either.
 */
export function nameMeantBy(text: string): string | undefined {
  const candidate = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s._]+/g, '_');
  return nameReference.safeParse(candidate).success ? candidate : undefined;
}
