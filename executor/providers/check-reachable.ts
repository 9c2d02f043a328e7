import type { OauthAppWarning } from '#contracts/http/oauth-apps';
import type { OauthProvider } from '#contracts/oauth-provider';
import { AppError } from '#errors';
import type { ReadingDeps } from './guarded-fetch.ts';

const timeoutMsMax = 3_000;
const bytesMax = 65_536;
/** With one of these errors, a server has answered. */
const answeredCodes: readonly string[] = ['response_too_large', 'upstream_incomplete'];

/**
 * Checks, without any credential, whether servers answer at the addresses that an admin filled in
 * for a provider. Problems are returned as warnings and refuse nothing: the provider may be down
 * for a moment, or a person's browser may reach what the gateway cannot.
 */
export async function listWarnings(
  deps: ReadingDeps,
  { title, ...provider }: OauthProvider,
): Promise<OauthAppWarning[]> {
  const { authorization_url: page, token_url: tokenUrl } = provider;
  const urls = [...new Set([page, tokenUrl])];
  const warnings = await Promise.all(
    urls.map(async (url) => {
      const message = await findProblem(deps, { url, title, isPage: url === page });
      return message === undefined ? [] : [{ url, message }];
    }),
  );
  return warnings.flat();
}

async function findProblem(
  { egress, deadline }: ReadingDeps,
  { url, title, isPage }: { url: string; title: string; isPage: boolean },
): Promise<string | undefined> {
  const { host } = new URL(url);
  try {
    const { status } = await egress.request({
      method: 'GET',
      url,
      headers: [],
      body: undefined,
      totalTimeoutMs: Math.max(1, Math.min(timeoutMsMax, deadline.remainingMs())),
      maxBytes: bytesMax,
    });
    // Many token endpoints answer 404 to a GET, so only the authorization page is checked for that
    // status.
    if (!isPage || (status !== 404 && status !== 410)) return undefined;
    return `${host} answers, and says that it has no such page (${status}), so it may be another address than that of your ${title}. Correct the variables, or go on if you are sure.`;
  } catch (thrown) {
    const { code, message } = AppError.from(thrown);
    if (answeredCodes.includes(code)) return undefined;
    if (code === 'upstream_refused_address') {
      return `The gateway may not call ${host}, so no account can be connected there. Correct the variables, or have the operator open the address (EGRESS_ALLOW).`;
    }
    return `The gateway cannot reach ${host} now: ${message.replace(/\.$/, '')}. Correct the variables, or go on if the address is right.`;
  }
}
