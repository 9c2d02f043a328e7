import { nameReference } from '#contracts/vocabulary';

/**
 * Returns the valid service name that a text probably means. The text may differ from the name in
 * its capital letters and in what separates its words: `Google Calendar` means `google_calendar`.
 * Returns undefined if the result is not a valid name.
 */
export function nameMeantBy(text: string): string | undefined {
  const candidate = text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s._]+/g, '_');
  return nameReference.safeParse(candidate).success ? candidate : undefined;
}
