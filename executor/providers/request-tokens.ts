import type { Egress } from '#egress';
import { createScrubber } from '../answers/domain/scrub.ts';
import { readTokenAnswer } from './domain/token-answer.ts';
import type { TokenAnswer } from './domain/token-answer.ts';
import type { ProviderApp } from './provider-apps.ts';

/** The time limit of one token request. */
export const tokenRequestMs = 10_000;
const answerBytesMax = 262_144;

/**
 * Sends a request to a token endpoint (RFC 6749 §4.1.3, §6), as the app's client and in the form
 * that the provider's definition names. Throws the errors of `#egress`.
 */
export async function requestTokens(
  { egress }: { egress: Egress },
  app: ProviderApp,
  { url, parameters }: { url: string; parameters: Record<string, string> },
): Promise<TokenAnswer> {
  const { provider } = app;
  const { headers, fields } = await authenticateClient(app);
  const { body, contentType } = writeBody(provider.token_request, {
    ...parameters,
    ...provider.token_parameters,
    ...fields,
  });
  const answer = await egress.request({
    method: 'POST',
    url,
    headers: [
      ...Object.entries(provider.token_headers),
      ...headers,
      ['accept', 'application/json'],
      ['content-type', contentType],
    ],
    body,
    totalTimeoutMs: tokenRequestMs,
    maxBytes: answerBytesMax,
  });
  const { code, code_verifier: verifier, refresh_token: refreshToken } = parameters;
  return removeEchoes(
    readTokenAnswer(provider, {
      status: answer.status,
      text: Buffer.from(answer.body).toString('utf8'),
    }),
    [await app.revealSecret(), code, verifier, refreshToken],
  );
}

/**
 * Removes secrets that the provider repeats in its answer, because texts of the answer are stored
 * and shown.
 */
function removeEchoes(
  answer: TokenAnswer,
  sentSecrets: readonly (string | null | undefined)[],
): TokenAnswer {
  const secrets = sentSecrets.filter((each) => each !== null && each !== undefined);
  if (answer.kind === 'unusable') return answer;
  if (answer.kind === 'refused') {
    return { ...answer, error: createScrubber(secrets).text(answer.error) };
  }
  const { accessToken, refreshToken, scopes } = answer.tokens;
  const scrubber = createScrubber([
    ...secrets,
    accessToken,
    ...(refreshToken === null ? [] : [refreshToken]),
  ]);
  const cleanScopes = scopes?.filter((scope) => scrubber.text(scope) === scope) ?? null;
  return { ...answer, tokens: { ...answer.tokens, scopes: cleanScopes } };
}

/**
 * Authenticates the client (RFC 6749 §2.3.1). Encodes only characters that must be encoded, because
 * many providers do not decode the values.
 */
export async function authenticateClient(
  app: ProviderApp,
  method = app.provider.client_authentication,
): Promise<{ headers: [string, string][]; fields: Record<string, string> }> {
  const { clientId } = app;
  const secret = await app.revealSecret();
  if (secret === null || method === 'none') return { headers: [], fields: { client_id: clientId } };
  if (method === 'client_secret_post') {
    return { headers: [], fields: { client_id: clientId, client_secret: secret } };
  }
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`;
  const header = `Basic ${Buffer.from(pair).toString('base64')}`;
  return { headers: [['authorization', header]], fields: {} };
}

export function writeBody(
  kind: 'form' | 'json',
  fields: Record<string, string>,
): { body: Uint8Array; contentType: string } {
  return kind === 'json'
    ? { body: Buffer.from(JSON.stringify(fields)), contentType: 'application/json' }
    : {
        body: Buffer.from(new URLSearchParams(fields).toString()),
        contentType: 'application/x-www-form-urlencoded',
      };
}
