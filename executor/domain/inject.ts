import type { Injection } from '#contracts/permit';
import { isForbiddenHeader } from '#contracts/request-headers';
import { AppError } from '#errors';
import { encode } from '#templates';
import { headerText } from './header-text.ts';
import type { HeaderPair } from './request.ts';

/** An injection with the value it injects. Lives from the vault to the socket, and in no message. */
export interface Credential {
  readonly injection: Injection;
  readonly value: string;
  /** Names an access token among all its connection has had; secrets have none here. */
  readonly version?: number | undefined;
}

interface Addressed {
  readonly url: string;
  readonly headers: readonly HeaderPair[];
}

/** Puts credentials on a request; an injected header or parameter replaces whatever the caller had there, in any casing. */
export function inject(request: Addressed, credentials: readonly Credential[]): Addressed {
  let { url } = request;
  let headers = [...request.headers];
  for (const { injection, value } of credentials) {
    const text = injectedText(injection, value);
    if (injection.in === 'query') {
      url = replaceQuery(url, injection.key, text);
      continue;
    }
    const name = injection.key.toLowerCase();
    if (isForbiddenHeader(name)) {
      throw new AppError('invalid_params', `The header ${injection.key} cannot carry a secret.`);
    }
    headers = [
      ...headers.filter(([known]) => known !== name),
      [name, headerText(text, injection.key)],
    ];
  }
  return { url, headers };
}

function injectedText({ prefix, encoding }: Injection, value: string): string {
  return prefix + (encoding === 'basic' ? Buffer.from(value, 'utf8').toString('base64') : value);
}

function replaceQuery(url: string, key: string, text: string): string {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const pairs = mark < 0 ? [] : url.slice(mark + 1).split('&');
  const others = pairs.filter(
    (pair) => pair !== '' && queryName(pair).toLowerCase() !== key.toLowerCase(),
  );
  return `${path}?${[...others, `${encode(key, key)}=${encode(text, key)}`].join('&')}`;
}

export function queryName(pair: string): string {
  const name = (pair.split('=')[0] ?? '').replaceAll('+', ' ');
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // Not UTF-8: compared as it stands.
  }
}
