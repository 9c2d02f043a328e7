import type { JsonObject } from '../../document/domain/context.ts';
import { textAt } from './source.ts';
import { wordsOf } from './words.ts';

/**
 * Endings of the names of credentials, without separators between words: `X-Shop-Api-Key` and
 * `apiKey` end in `apikey`.
 */
const credentialEndings = [
  'authorization',
  'apikey',
  'apitoken',
  'apisecret',
  'accesstoken',
  'accesskey',
  'appkey',
  'authkey',
  'authtoken',
  'bearertoken',
  'clientsecret',
  'jwt',
  'oauthtoken',
  'privatetoken',
  'secretkey',
  'sessiontoken',
  'subscriptionkey',
  'usertoken',
];
/** Names that mean a credential in a header or cookie, and often something else in a query. */
const headerNames = ['auth', 'authentication', 'token'];
const cookieNames = ['session', 'sessionid', 'sid', 'phpsessid', 'jsessionid'];

/** Whether a parameter carries a credential, judged by its name and place. */
export function isCredentialName(parameter: JsonObject): boolean {
  const location = textAt(parameter, 'in');
  if (location !== 'header' && location !== 'query' && location !== 'cookie') return false;
  const words = wordsOf(textAt(parameter, 'name') ?? '');
  const name = (words[0] === 'x' ? words.slice(1) : words).join('');
  if (credentialEndings.some((ending) => name.endsWith(ending))) return true;
  if (location === 'query') return false;
  return headerNames.includes(name) || (location === 'cookie' && cookieNames.includes(name));
}
