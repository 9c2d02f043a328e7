import { refusalOfHeaderName } from '#contracts/request-headers';
import { invalidParam } from '#templates';
import { toHeaderText } from './header-text.ts';
import type { HeaderPair } from './built-request.ts';

/**
 * Checks one header and writes its name in lower case. Throws for headers that a caller may not
 * set.
 */
export function toRequestHeader(name: string, value: string): HeaderPair {
  const lowerCaseName = name.toLowerCase();
  const refusal = refusalOfHeaderName(lowerCaseName);
  if (refusal !== undefined) throw invalidParam(name, refusal);
  return [lowerCaseName, toHeaderText(value, name)];
}
