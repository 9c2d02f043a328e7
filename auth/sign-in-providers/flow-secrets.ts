import { createHash, createHmac } from 'node:crypto';

/**
 * Derives the PKCE verifier and the nonce from the browser's token and the state of the sign-in, so
 * that the database stores neither.
 */
export function deriveFlowSecrets({
  browserToken,
  state,
}: {
  browserToken: string;
  state: string;
}) {
  const deriveKey = (purpose: string) =>
    createHmac('sha256', browserToken).update(`${purpose}\0${state}`).digest('base64url');
  return { nonce: deriveKey('nonce'), verifier: deriveKey('code verifier') };
}

/** The hash under which the database stores the state and the browser's token. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
