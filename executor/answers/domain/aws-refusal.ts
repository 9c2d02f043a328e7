import type { FailureKind } from '#contracts/failure';
import type { JsonValue } from '#contracts/vocabulary';

/** The codes by which services of AWS refuse a key, a session token, or a signature. */
const refusalCodes = new Set([
  'AuthorizationHeaderMalformed',
  'ExpiredToken',
  'ExpiredTokenException',
  'IncompleteSignature',
  'IncompleteSignatureException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'InvalidToken',
  'MissingAuthenticationTokenException',
  'SignatureDoesNotMatch',
  'TokenRefreshRequired',
  'UnrecognizedClientException',
]);
const clockSkewCodes = new Set(['RequestTimeTooSkewed', 'RequestExpired', 'RequestInTheFuture']);
/** Some services of AWS have no code for a wrong clock, only this message. */
const clockSkewPattern = /Signature (?:expired|not yet current)/;

const clockProblem =
  'The clock of the gateway differs from that of AWS, so no signature is accepted; its operator sets it.';

/**
 * How a service of AWS refused a request because of its signature: AWS answers 400 or 403 in that
 * case, never 401. Undefined for any other failure.
 */
export function awsRefusalOf({
  headers,
  body,
}: {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}): { kind: FailureKind; problem?: string } | undefined {
  const code = awsErrorCodeOf(headers, body);
  if (code === undefined) return undefined;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const isSkewed =
    clockSkewCodes.has(code) || (refusalCodes.has(code) && clockSkewPattern.test(text));
  if (isSkewed) return { kind: 'unavailable', problem: clockProblem };
  return refusalCodes.has(code) ? { kind: 'credential_refused' } : undefined;
}

/**
 * The code in the header, in the JSON member `__type` or `code`, or in the XML element `Code`.
 * Removes a namespace or a URL from the code.
 */
function awsErrorCodeOf(
  headers: Readonly<Record<string, string>>,
  body: JsonValue,
): string | undefined {
  const { 'x-amzn-errortype': header } = headers;
  if (header !== undefined) return header.split(':')[0];
  if (typeof body === 'string') return /<Code>(\w{1,100})<\/Code>/.exec(body.slice(0, 4_096))?.[1];
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const code = body['__type'] ?? body['code'];
  return typeof code === 'string' ? code.split('#').at(-1) : undefined;
}
