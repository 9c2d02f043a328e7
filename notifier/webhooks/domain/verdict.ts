/** The result of one delivery attempt. */
export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: string };

/**
 * Derives the verdict from the answer of an endpoint. Only a 2xx status is a success; a redirect is
 * a failure, and 410 ends the subscription. A verification succeeds if the body is the challenge or
 * `{"challenge": …}`.
 */
export function judgeDeliveryAttempt({
  status,
  body,
  challenge,
}: {
  status: number;
  body: string;
  /** The challenge of a verification; null for every other delivery. */
  challenge: string | null;
}): Verdict {
  if (status === 410) return { kind: 'gone' };
  if (status < 200 || status > 299) {
    return { kind: 'failed', error: `The endpoint answered ${status}.` };
  }
  if (challenge === null || containsChallenge(body, challenge)) return { kind: 'delivered' };
  return { kind: 'failed', error: 'The endpoint did not answer with the challenge.' };
}

function containsChallenge(body: string, challenge: string): boolean {
  if (body.trim() === challenge) return true;
  try {
    const parsedBody: unknown = JSON.parse(body);
    return (
      typeof parsedBody === 'object' &&
      parsedBody !== null &&
      'challenge' in parsedBody &&
      parsedBody.challenge === challenge
    );
  } catch {
    return false; // A body that is not JSON does not contain the challenge.
  }
}
