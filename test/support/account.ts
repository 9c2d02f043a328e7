import { randomUUID } from 'node:crypto';

import { startTestProvider } from './oauth-provider.ts';
import type { Person } from './people.ts';
import { successfulBodyOf } from './world.ts';

/** What the provider grants to a connection: an access token and its scopes. */
export interface TokenAnswer {
  readonly token: string;
  readonly scopes: readonly string[];
}

/** A person's account at the provider, connected to the gateway. */
export interface Account {
  readonly id: string;
  readonly name: string;
  /**
   * Sets the token and scopes that the provider grants at the next refreshes. Does not refresh the
   * token.
   */
  grants(grant: TokenAnswer): void;
  /** Makes the gateway refresh the token. The provider answers with these tokens and scopes. */
  refresh(grant: TokenAnswer): Promise<void>;
  /**
   * Runs `go`, in which the owner authorizes the account again. The provider answers with these
   * tokens and scopes.
   */
  regrant(grant: TokenAnswer, go: () => Promise<void>): Promise<void>;
  /** Makes the gateway refresh the token. The provider has revoked the account, so it refuses. */
  lose(): Promise<void>;
}

export interface Provider extends AsyncDisposable {
  /** The provider's URL, for templates that require an account at this provider. */
  readonly issuer: string;
  /**
   * Connects an account in the same way as its owner in a browser: from the gateway's page to the
   * provider, and back.
   */
  connect(fields: TokenAnswer & { name: string; owner: Person; body?: object }): Promise<Account>;
}

/**
 * Starts an OAuth provider, which issues the tokens that a test asks for, and registers it in the
 * admin's org under the name Acme.
 */
export async function openProvider(admin: Person): Promise<Provider> {
  const acme = await startTestProvider('acme');
  const grantByRefreshToken = new Map<string, TokenAnswer>();
  /** What the provider will grant in the authorization that is now under way. */
  let grantUnderWay: { grant: TokenAnswer; refreshToken: string } | undefined;
  let lastAuthorization: Promise<unknown> = Promise.resolve();

  acme.changeAnswer = (response, { grant_type, refresh_token = '' }) => {
    const isFirst = grant_type === 'authorization_code';
    const grant = isFirst ? grantUnderWay?.grant : grantByRefreshToken.get(refresh_token);
    if (grant === undefined) {
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
      return;
    }
    const refreshToken = (isFirst ? grantUnderWay?.refreshToken : undefined) ?? refresh_token;
    const scope = grant.scopes.join(' ');
    response.body = {
      access_token: grant.token,
      refresh_token: refreshToken,
      token_type: 'Bearer',
      expires_in: 3_600,
      scope,
    };
  };
  const { issuer } = acme;
  const definition = { title: 'Acme', issuer, hosts: ['api.acme.example'] };
  successfulBodyOf(await admin.put('/v1/oauth-apps/acme', { client_id: 'gateway', definition }));

  return {
    issuer,
    async connect({ name, owner, body = { provider: 'acme' }, ...grant }) {
      const refreshToken = `CANARY-refresh-${randomUUID()}`;
      const sub = randomUUID();
      const authorizeWith = (newGrant: TokenAnswer, go: () => Promise<void>) =>
        afterEarlierAuthorizations(async () => {
          grantUnderWay = { grant: newGrant, refreshToken };
          acme.account = { sub, email: `${name}@acme.example` };
          await go();
          grantUnderWay = undefined;
        });
      const connection = successfulBodyOf(await owner.post('/v1/connections', { ...body, name }));
      await authorizeWith(grant, () => authorize(owner, connection.authorization_url));
      const path = `/v1/connections/${connection.id}/refresh`;
      return {
        id: connection.id,
        name,
        grants: (nextGrant) => void grantByRefreshToken.set(refreshToken, nextGrant),
        regrant: authorizeWith,
        async refresh(nextGrant) {
          grantByRefreshToken.set(refreshToken, nextGrant);
          successfulBodyOf(await owner.post(path));
        },
        async lose() {
          grantByRefreshToken.delete(refreshToken);
          const { body: refusal } = await owner.post(path);
          if (refusal.error !== 'reauth_required') throw new Error(JSON.stringify(refusal));
        },
      };
    },
    [Symbol.asyncDispose]: () => acme[Symbol.asyncDispose](),
  };

  function afterEarlierAuthorizations(work: () => Promise<void>): Promise<void> {
    const authorizationTurn = lastAuthorization.then(work);
    lastAuthorization = authorizationTurn.catch(() => undefined);
    return authorizationTurn;
  }
}

/**
 * Acts as the owner's browser: presses the button on the gateway's page and follows the redirects.
 */
export async function authorize(owner: Person, authorizationUrl: string): Promise<void> {
  const authorizationPath = new URL(authorizationUrl).pathname;
  if ((await owner.get(authorizationPath)).status !== 200) throw new Error('the gate is closed');
  const begunFlow = await owner.post(authorizationPath);
  const providerReply = await fetch(begunFlow.headers.get('location') ?? '', {
    redirect: 'manual',
  });
  const { pathname, search } = new URL(providerReply.headers.get('location') ?? '');
  const returnReply = await owner.get(pathname + search);
  if (returnReply.status !== 200)
    throw new Error(`coming back: ${returnReply.status} ${returnReply.body}`);
}
