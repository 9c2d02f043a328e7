import type { Egress } from '#egress';
import type { Logger } from '#telemetry';
import { createScrubber } from '../domain/scrub.ts';
import { readPlace } from '../domain/token-answer.ts';
import type { GrantedTokens } from '../domain/token-answer.ts';
import type { ProviderApp } from './provider-apps.ts';

/** Whose account a token is for, as the provider tells. */
export interface Account {
  readonly id: string;
  readonly label: string;
}

const timeoutMs = 6_000;
const bytesMax = 262_144;
const charactersMax = 200;

/** Null when the provider has no place that tells it, or does not tell: a connection works without. */
export async function lookUpAccount(
  { egress, logger }: { egress: Egress; logger: Logger },
  app: ProviderApp,
  { tokens, body }: { tokens: GrantedTokens; body: unknown },
): Promise<Account | null> {
  const { account } = app.provider;
  if (account === undefined) return null;
  let about = body;
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
      about = JSON.parse(Buffer.from(answer.body).toString('utf8'));
    } catch (thrown) {
      logger.warn({ err: thrown, provider: app.provider.key }, 'whose account it is was not told');
      return null;
    }
  }
  const { accessToken, refreshToken } = tokens;
  const secrets = [accessToken, refreshToken, await app.revealSecret()];
  const scrubber = createScrubber(secrets.filter((each) => each !== null));
  // What repeats a credential names nobody.
  const read = (place: string) => {
    const text = textOf(readPlace(about, place));
    return text === null || scrubber.text(text) === text ? text : null;
  };
  const id = read(account.id);
  if (id === null) return null;
  const labels = account.label.map(read);
  return { id, label: labels.find((each) => each !== null) ?? id };
}

/** As a line of text for people: nothing that breaks it or turns it around. */
function textOf(value: unknown): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  return line === '' ? null : line.slice(0, charactersMax);
}
