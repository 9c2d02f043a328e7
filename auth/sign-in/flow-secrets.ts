import { createHash, createHmac } from 'node:crypto';

/**
 * PKCE verifier and nonce follow from what only this browser has and what only this flow has, so
 * that neither has to be stored.
 */
export function secretsOf({ browserToken, state }: { browserToken: string; state: string }) {
  const derive = (purpose: string) =>
    createHmac('sha256', browserToken).update(`${purpose}\0${state}`).digest('base64url');
  return { nonce: derive('nonce'), verifier: derive('code verifier') };
}

/** What is stored of the state, and of the browser's token. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
