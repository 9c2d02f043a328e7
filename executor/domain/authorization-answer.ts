import { AppError } from '#errors';

export interface AuthorizationAnswer {
  readonly state: string;
  readonly code: string | null;
  /** Why the provider did not grant access. */
  readonly error: string | null;
  readonly iss: string | null;
}

/** Reads the query of a callback (RFC 6749 §4.1.2, RFC 9207 §2). None of its parameters may come twice. */
export function readAuthorizationAnswer(query: string): AuthorizationAnswer {
  const parameters = new URLSearchParams(query);
  const read = (name: string): string | null => {
    const values = parameters.getAll(name);
    if (values.length > 1) throw notUsable();
    return values[0] ?? null;
  };
  const answer = { code: read('code'), error: read('error'), iss: read('iss') };
  const state = read('state');
  if (state === null || state === '') throw notUsable();
  return { ...answer, state };
}

/**
 * Whether the answer is from the provider that was asked, as far as it says (RFC 9207 §2.4): a code
 * of one provider must not be redeemed at another (docs/reference/credentials.md#connections).
 */
export function isFromProvider(
  {
    issuer,
    issuer_required: isRequired,
  }: { issuer?: string | undefined; issuer_required: boolean },
  iss: string | null,
): boolean {
  if (iss === null) return !isRequired;
  return issuer === undefined || iss === issuer;
}

function notUsable(): AppError {
  return new AppError('expired', 'What the provider sent cannot be read; begin again.');
}
