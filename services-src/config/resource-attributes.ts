import { z } from 'zod';

const attributesMax = 64;

/**
 * Reads `name=value,name=value` with percent-encoded values (OpenTelemetry, Resource SDK: "Specifying
 * resource information via an environment variable").
 */
export const resourceAttributesText = z
  .string()
  .max(4_096)
  .transform((text, context): Record<string, string> => {
    const pairs = text.split(',').flatMap((part) => (part.trim() === '' ? [] : [readPair(part)]));
    const readPairs = pairs.filter((pair) => pair !== undefined);
    if (readPairs.length === pairs.length && pairs.length <= attributesMax) {
      return Object.fromEntries(readPairs);
    }
    const message = `must be at most ${attributesMax} of name=value, with commas between them and percent-encoded values`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

function readPair(part: string): readonly [name: string, value: string] | undefined {
  const end = part.indexOf('=');
  const name = part.slice(0, Math.max(0, end)).trim();
  if (name === '') return undefined;
  try {
    return [name, decodeURIComponent(part.slice(end + 1).trim())];
  } catch {
    return undefined;
  }
}
