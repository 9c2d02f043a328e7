import type { AccountPin } from '#contracts/account-value';
import type { Injection } from '#contracts/permit';
import { isForbiddenHeader } from '#contracts/request-headers';
import { AppError } from '#errors';
import { encode } from '#templates';
import type { SignableRequest } from './aws-signature.ts';
import { toHeaderText } from './header-text.ts';
import type { HeaderPair } from './built-request.ts';

/**
 * The place where a credential is injected, and its value. The value exists in plaintext only
 * between the vault and the socket, and no message of the bus contains it.
 */
export interface Credential {
  readonly injection: Injection;
  readonly value: string;
  /**
   * The version of this access token in its connection. Undefined for a secret that is sent as it
   * is.
   */
  readonly version?: number | undefined;
  /**
   * The version that was stored when the credential was read, and the version that a provider
   * refused.
   */
  readonly stored?:
    | { readonly version: number; readonly refusedVersion: number | null }
    | undefined;
  /** The one site, company or tenant of the account to which an access token is bound. */
  readonly pin?: AccountPin | null | undefined;
  /** The secret parts from which the value is derived. */
  readonly sources?: readonly string[] | undefined;
  /** Present when the credential signs the request instead of being injected. */
  readonly signer?: Signer | undefined;
}

export interface Signer {
  /** Signs a request that has all its other headers already. */
  sign(request: SignableRequest): AddressedRequest;
  /** Texts besides the value that must not be in an answer. They are known only after signing. */
  secretTexts(): readonly string[];
}

/** All texts that must not be in an answer because of these credentials. */
export function secretTextsOf(credentials: readonly Credential[]): string[] {
  return credentials.flatMap(({ value, sources = [], signer }) => [
    value,
    ...sources,
    ...(signer?.secretTexts() ?? []),
  ]);
}

interface AddressedRequest {
  readonly url: string;
  readonly headers: readonly HeaderPair[];
}

/**
 * Adds credentials to a request. A credential replaces a header or query parameter of the caller
 * with the same name, whatever its letter case. A credential that signs comes last, because it
 * signs the others too.
 */
export function injectCredential(
  { method, body, ...request }: SignableRequest,
  credentials: readonly Credential[],
): AddressedRequest {
  let { url, headers } = request;
  for (const { injection, value, signer } of credentials) {
    if (signer !== undefined) continue;
    const text = injection.prefix + encodeValue(injection, value);
    switch (injection.in) {
      case 'query':
        url = replaceQuery(url, injection.key, text);
        break;
      case 'header':
        headers = replaceHeader(headers, injection.key, text);
        break;
    }
  }
  const signer = credentials.find((each) => each.signer !== undefined)?.signer;
  return signer === undefined ? { url, headers } : signer.sign({ method, url, headers, body });
}

function encodeValue({ encoding }: Injection, value: string): string {
  switch (encoding) {
    case 'raw':
    case 'derived':
      return value;
    case 'basic':
      return Buffer.from(value, 'utf8').toString('base64');
  }
}

function replaceHeader(
  headers: readonly HeaderPair[],
  key: string,
  text: string,
): readonly HeaderPair[] {
  const name = key.toLowerCase();
  if (isForbiddenHeader(name)) {
    throw new AppError('invalid_params', `The header ${key} cannot carry a secret.`);
  }
  return [...headers.filter(([known]) => known !== name), [name, toHeaderText(text, key)]];
}

function replaceQuery(url: string, key: string, text: string): string {
  const queryIndex = url.indexOf('?');
  const path = queryIndex < 0 ? url : url.slice(0, queryIndex);
  const pairs = queryIndex < 0 ? [] : url.slice(queryIndex + 1).split('&');
  const otherPairs = pairs.filter(
    (pair) => pair !== '' && queryNameOf(pair).toLowerCase() !== key.toLowerCase(),
  );
  return `${path}?${[...otherPairs, `${encode(key, key)}=${encode(text, key)}`].join('&')}`;
}

export function queryNameOf(pair: string): string {
  const name = (pair.split('=')[0] ?? '').replaceAll('+', ' ');
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // The name is not valid percent-encoded UTF-8, so it is compared without decoding.
  }
}
