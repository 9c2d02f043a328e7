import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The keys and settings of an account at the simulated AWS. */
export interface AwsAccount {
  readonly keys: ReadonlyMap<string, { secret: string; token?: string; isExpired?: boolean }>;
  readonly region: string;
  readonly service: string;
  /** The clock of the simulated AWS. */
  now(): number;
}

export interface ReceivedRequest {
  readonly method: string;
  /** The target as it was received. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

const skewMsMax = 15 * 60_000;
const percentEncode = (text: string) =>
  encodeURIComponent(text).replaceAll(
    /[!*'()]/g,
    (character) => `%${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}`,
  );
const sha256Of = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');

/**
 * Checks a signature as AWS documents it (IAM User Guide, "Create a signed API request", and
 * "Elements of an AWS API request signature"): decodes the received request and builds its
 * canonical form anew. Returns the error code of AWS, or undefined if the signature is valid.
 * Shares no code with the executor.
 */
export function refusalOfSignature(
  request: ReceivedRequest,
  account: AwsAccount,
): string | undefined {
  const { headers } = request;
  const authorizationMatch =
    /^AWS4-HMAC-SHA256 Credential=([^/, ]+)\/(\d{8})\/([^/, ]+)\/([^/, ]+)\/aws4_request, ?SignedHeaders=([^, ]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (authorizationMatch === null) return 'IncompleteSignature';
  const [, id = '', day = '', region = '', service = '', names = '', signature = ''] =
    authorizationMatch;
  const key = account.keys.get(id);
  if (key === undefined) return 'InvalidAccessKeyId';
  if (region !== account.region || service !== account.service)
    return 'AuthorizationHeaderMalformed';
  const stamp = String(headers['x-amz-date']);
  const [, y, m, d, hours, minutes, seconds] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
  const at = Date.parse(`${y}-${m}-${d}T${hours}:${minutes}:${seconds}Z`);
  if (Number.isNaN(at) || !stamp.startsWith(day)) return 'IncompleteSignature';
  if (Math.abs(account.now() - at) > skewMsMax) return 'RequestTimeTooSkewed';
  if (key.isExpired === true) return 'ExpiredToken';
  if (headers['x-amz-security-token'] !== key.token) return 'InvalidToken';
  const signed = names.split(';');
  const mandatory = Object.keys(headers).filter(
    (name) => name === 'host' || name.startsWith('x-amz-'),
  );
  if (!mandatory.every((name) => signed.includes(name))) return 'AccessDenied';
  if (headers['x-amz-content-sha256'] !== sha256Of(request.body))
    return 'XAmzContentSHA256Mismatch';

  const credentialScope = `${day}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${stamp}\n${credentialScope}\n${sha256Of(canonicalRequestOf(request, { signed, service }))}`;
  let signingKey = createHmac('sha256', `AWS4${key.secret}`).update(day).digest();
  for (const step of [region, service, 'aws4_request']) {
    signingKey = createHmac('sha256', signingKey).update(step).digest();
  }
  const expected = createHmac('sha256', signingKey).update(text).digest();
  const isSame = timingSafeEqual(expected, Buffer.from(signature, 'hex'));
  return isSame ? undefined : 'SignatureDoesNotMatch';
}

function canonicalRequestOf(
  { method, url, headers, body }: ReceivedRequest,
  { signed, service }: { signed: readonly string[]; service: string },
): string {
  const { pathname, searchParams } = new URL(url, 'http://stand-in.invalid');
  // The query is form-encoded: "+" is a space.
  const query = [...searchParams]
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .toSorted()
    .join('&');
  const onceEscapedPath = pathname
    .split('/')
    .map((segment) => percentEncode(decodeURIComponent(segment)))
    .join('/');
  const path =
    service === 's3' ? onceEscapedPath : onceEscapedPath.split('/').map(percentEncode).join('/');
  const lines = signed.map(
    (name) => `${name}:${String(headers[name]).trim().replaceAll(/\s+/g, ' ')}\n`,
  );
  return `${method}\n${path}\n${query}\n${lines.join('')}\n${signed.join(';')}\n${sha256Of(body)}`;
}
