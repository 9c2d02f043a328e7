import { invalidParam } from '#templates';
import { headerText } from './header-text.ts';
import type { HeaderPair } from './request.ts';

const notTheirs = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-real-ip',
]);
/** They would make the upstream run another method than the one that was permitted. */
const methodOverrides = /^x-(http-)?method(-override)?$/;
const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** Whether a header belongs to the transport, or could change which request this is. */
export function isForbiddenHeader(lowerCaseName: string): boolean {
  return (
    notTheirs.has(lowerCaseName) ||
    // CGI servers read `x_http_method_override` as the same header.
    methodOverrides.test(lowerCaseName.replaceAll('_', '-')) ||
    /^(proxy-|x-forwarded-)/.test(lowerCaseName)
  );
}

/** One checked header with its name in lower case; refuses what a caller may not set. */
export function requestHeader(name: string, value: string): HeaderPair {
  const lowerCaseName = name.toLowerCase();
  if (!token.test(lowerCaseName)) throw invalidParam(name, 'is not a header name');
  if (isForbiddenHeader(lowerCaseName))
    throw invalidParam(name, 'is a header that only the gateway sets');
  return [lowerCaseName, headerText(value, name)];
}
