import { accountValue } from '#contracts/account-value';
import type { AccountLookUp, AccountValue } from '#contracts/account-value';
import { isServerValue } from '#contracts/server-variables';
import { hiddenCharacters } from '#hidden-characters';

const hiddenPattern = new RegExp(String.raw`[\p{Cc}${hiddenCharacters}]`, 'gu');
const labelLengthMax = 200;

/**
 * Reads the values to which an account has access from a provider's answer, each value once. Leaves
 * out values that cannot be a segment of a path. Undefined when the answer has no list.
 */
export function readAccountValues(
  body: unknown,
  lookUp: AccountLookUp,
): AccountValue[] | undefined {
  const items = valueAt(body, lookUp.items.replace(/\[\]$/, ''));
  if (!Array.isArray(items)) return undefined;
  const values = items.flatMap((item): AccountValue[] => {
    const value = textAt(item, lookUp.value);
    if (value === undefined || !isServerValue(value, 'path')) return [];
    const givenLabel = lookUp.label === undefined ? undefined : textAt(item, lookUp.label);
    const label = toLabel(givenLabel ?? '') || value;
    return [accountValue.parse({ value, label })];
  });
  return [...new Map(values.map((each) => [each.value, each])).values()];
}

/** One line of text for people, without characters that hide or reorder the text beside them. */
function toLabel(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/\p{Zs}+/gu, ' ')
    .replaceAll(hiddenPattern, '');
  // The cut may split a character that has two code units.
  return line.trim().slice(0, labelLengthMax).toWellFormed();
}

function textAt(item: unknown, path: string): string | undefined {
  const value = valueAt(item, path);
  if (typeof value === 'string') return value;
  // JSON does not give larger numbers exactly, so the number could be another site's.
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function valueAt(body: unknown, path: string): unknown {
  const members = path.split('.').filter((each) => each !== '');
  return members.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined,
    body,
  );
}
