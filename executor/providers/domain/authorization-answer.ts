import { AppError } from '#errors';

export interface AuthorizationAnswer {
  readonly state: string;
  readonly code: string | null;
  /** The reason why the provider did not grant access. */
  readonly error: string | null;
  readonly iss: string | null;
}

/** Parses the query of a callback (RFC 6749 §4.1.2, RFC 9207 §2). No parameter may occur twice. */
export function readAuthorizationAnswer(query: string): AuthorizationAnswer {
  const parameters = new URLSearchParams(query);
  const readParameter = (name: string): string | null => {
    const values = parameters.getAll(name);
    if (values.length > 1) throw unusableAnswerError();
    return values[0] ?? null;
  };
  const answer = {
    code: readParameter('code'),
    error: readParameter('error'),
    iss: readParameter('iss'),
  };
  const state = readParameter('state');
  if (state === null || state === '') throw unusableAnswerError();
  return { ...answer, state };
}

/**
 * Whether the answer comes from the provider at which the flow was begun, if the answer names its
 * issuer (RFC 9207 §2.4). The code of one provider must not be sent to another
 * (docs/reference/credentials.md#connections).
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

function unusableAnswerError(): AppError {
  return new AppError('expired', 'What the provider sent cannot be read; begin again.');
}
