import { formatCheckedToken, isCheckedToken } from './checked-token.ts';

/**
 * Session tokens and sign-in links have different prefixes, so that neither is ever accepted as the
 * other.
 */
const sessionPrefix = 'ses_';
const signInLinkPrefix = 'sil_';

export function formatSessionToken(random: Uint8Array): string {
  return formatCheckedToken(sessionPrefix, random);
}

export function isSessionToken(text: string): boolean {
  return isCheckedToken(sessionPrefix, text);
}

export function formatSignInToken(random: Uint8Array): string {
  return formatCheckedToken(signInLinkPrefix, random);
}

export function isSignInToken(text: string): boolean {
  return isCheckedToken(signInLinkPrefix, text);
}
