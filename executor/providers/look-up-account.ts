import type { Egress } from '#egress';
import type { Logger } from '#telemetry';
import { createScrubber } from '../answers/domain/scrub.ts';
import { readMemberAt } from './domain/token-answer.ts';
import type { GrantedTokens } from './domain/token-answer.ts';
import type { ProviderApp } from './provider-apps.ts';

/** The account to which a token gives access, with the provider's id and name for it. */
export interface Account {
  readonly id: string;
  /** The id that an earlier definition of the provider used for the account. */
  readonly idBefore?: string;
  readonly label: string;
}

const timeoutMs = 6_000;
const bytesMax = 262_144;
const charactersMax = 200;

/**
 * Asks the provider which account a token belongs to. Null when the provider has no endpoint for
 * that, or gives no usable answer: a connection also works without knowing its account.
 */
export async function lookUpAccount(
  { egress, logger }: { egress: Egress; logger: Logger },
  app: ProviderApp,
  { tokens, body }: { tokens: GrantedTokens; body: unknown },
): Promise<Account | null> {
  const { account } = app.provider;
  if (account === undefined) return null;
  let accountBody = body;
  if (account.url !== 'answer') {
    try {
      const answer = await egress.request({
        method: account.method,
        url: account.url,
        headers: [
          ['accept', 'application/json'],
          ['user-agent', 'agent-action-gateway'],
          ...Object.entries(account.headers),
          ['authorization', `Bearer ${tokens.accessToken}`],
        ],
        body: account.body === undefined ? undefined : Buffer.from(account.body),
        totalTimeoutMs: timeoutMs,
        maxBytes: bytesMax,
      });
      accountBody = JSON.parse(Buffer.from(answer.body).toString('utf8'));
    } catch (error) {
      logger.warn({ err: error, provider: app.provider.key }, 'whose account it is was not told');
      return null;
    }
  }
  const { accessToken, refreshToken } = tokens;
  const secrets = [accessToken, refreshToken, await app.revealSecret()];
  const scrubber = createScrubber(secrets.filter((each) => each !== null));
  // An account name that repeats a credential must not be stored, so it counts as absent.
  const readMember = (dottedPath: string) => {
    const text = toPlainLine(readMemberAt(accountBody, dottedPath));
    return text === null || scrubber.text(text) === text ? text : null;
  };
  const ids = [account.id].flat().map(readMember);
  if (ids.includes(null)) return null;
  const id = ids.join('/');
  const idBefore = account.id_before === undefined ? null : readMember(account.id_before);
  const labels = account.label.map(readMember);
  const label = labels.find((each) => each !== null) ?? id;
  return idBefore === null ? { id, label } : { id, idBefore, label };
}

/**
 * The value as one line of text for people: without control characters and without characters that
 * change the direction of writing.
 */
function toPlainLine(value: unknown): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  return line === '' ? null : line.slice(0, charactersMax);
}
