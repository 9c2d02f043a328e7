/** What an attempt at a delivery came to. */
export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: string };

/**
 * Only a 2xx counts, a redirect does not; 410 ends the subscription. The handshake passes when
 * the body is the challenge, or `{"challenge": …}`.
 */
export function judge({
  status,
  body,
  challenge,
}: {
  status: number;
  body: string;
  /** Null for everything but the handshake. */
  challenge: string | null;
}): Verdict {
  if (status === 410) return { kind: 'gone' };
  if (status < 200 || status > 299) {
    return { kind: 'failed', error: `The endpoint answered ${status}.` };
  }
  if (challenge === null || echoes(body, challenge)) return { kind: 'delivered' };
  return { kind: 'failed', error: 'The endpoint did not answer with the challenge.' };
}

function echoes(body: string, challenge: string): boolean {
  if (body.trim() === challenge) return true;
  try {
    const parsed: unknown = JSON.parse(body);
    return (
      typeof parsed === 'object' &&
      parsed !== null &&
      'challenge' in parsed &&
      parsed.challenge === challenge
    );
  } catch {
    return false; // Not JSON is no echo.
  }
}
