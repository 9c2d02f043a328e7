import { isForbiddenHeader } from '#contracts/request-headers';
import { invalidParam } from '#templates';
import { headerText } from './header-text.ts';
import type { HeaderPair } from './request.ts';

const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** One checked header with its name in lower case; refuses what a caller may not set. */
export function requestHeader(name: string, value: string): HeaderPair {
  const lowerCaseName = name.toLowerCase();
  if (!token.test(lowerCaseName)) throw invalidParam(name, 'is not a header name');
  if (isForbiddenHeader(lowerCaseName))
    throw invalidParam(name, 'is a header that only the gateway sets');
  return [lowerCaseName, headerText(value, name)];
}
