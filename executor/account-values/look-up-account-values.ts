import type { AccountLookUp, AccountValue } from '#contracts/account-value';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import type { Logger } from '#telemetry';
import { createScrubber } from '../answers/domain/scrub.ts';
import type { GrantedTokens } from '../providers/domain/token-answer.ts';
import type { ProviderApp } from '../providers/provider-apps.ts';
import { readAccountValues } from './domain/read-account-values.ts';

const timeoutMs = 6_000;
const bytesMax = 1_048_576;

/**
 * Asks the provider, with the new token, for the values to which the account has access. The
 * template contains the URL, so the token is sent only if the URL is on a host of the provider.
 * Throws when the provider gives no list: a connection that is not bound to one of the values could
 * be used for all of them.
 */
export async function lookUpAccountValues(
  { egress, logger }: { egress: Egress; logger: Logger },
  app: ProviderApp,
  { lookUp, tokens }: { lookUp: AccountLookUp; tokens: GrantedTokens },
): Promise<AccountValue[]> {
  const { title, hosts, key } = app.provider;
  if (!hosts.includes(new URL(lookUp.get).host)) {
    throw new AppError(
      'conflict',
      `The template asks ${new URL(lookUp.get).host} what the account opens, which is no host of ${title}. Tell an admin.`,
    );
  }
  let body: unknown;
  try {
    const answer = await egress.request({
      method: 'GET',
      url: lookUp.get,
      headers: [
        ['accept', 'application/json'],
        ['user-agent', 'agent-action-gateway'],
        ['authorization', `Bearer ${tokens.accessToken}`],
      ],
      body: undefined,
      totalTimeoutMs: timeoutMs,
      maxBytes: bytesMax,
    });
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    body = JSON.parse(Buffer.from(answer.body).toString('utf8'));
  } catch (error) {
    logger.warn({ err: error, provider: key }, 'what the account opens was not told');
    throw notTold(title);
  }
  const { accessToken, refreshToken } = tokens;
  const secrets = [accessToken, refreshToken, await app.revealSecret()];
  const scrubber = createScrubber(secrets.filter((each) => each !== null));
  const values = readAccountValues(body, lookUp);
  if (values === undefined) throw notTold(title);
  // A name that repeats a credential must not be stored or shown.
  return values.filter(({ value, label }) => {
    const text = `${value} ${label}`;
    return scrubber.text(text) === text;
  });
}

function notTold(title: string): AppError {
  return new AppError(
    'upstream_incomplete',
    `${title} did not say what your account opens, so nothing was connected. Try again.`,
  );
}
