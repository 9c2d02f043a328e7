import { randomUUID } from 'node:crypto';

import { startTestProvider } from '../../support/oauth-provider.ts';
import type { Person } from './people.ts';
import { created } from './world.ts';

/** What the provider grants: an access token, and what it is for. */
export interface Grant {
  readonly token: string;
  readonly scopes: readonly string[];
}

/** An account at the provider, connected. */
export interface Account {
  readonly id: string;
  readonly name: string;
  /** What the provider grants from now on, when it is asked to refresh. */
  grants(grant: Grant): void;
  /** Refreshes it; the provider grants this. */
  refresh(grant: Grant): Promise<void>;
  /** Its owner goes to the provider once more, by `go`, and the provider grants this. */
  regrant(grant: Grant, go: () => Promise<void>): Promise<void>;
  /** Refreshes it; the provider has ended it. */
  lose(): Promise<void>;
}

export interface Provider extends AsyncDisposable {
  /** In the URLs of a template that asks for an account here. */
  readonly issuer: string;
  /** Its owner goes through all of it in a browser: our gate, the provider, and back. */
  connect(fields: Grant & { name: string; owner: Person; body?: object }): Promise<Account>;
}

/** Acme, a provider of the admin's org, that issues the tokens it is told to. */
export async function openProvider(admin: Person): Promise<Provider> {
  const acme = await startTestProvider('acme');
  const granted = new Map<string, Grant>();
  /** Of the one connection that is being made. */
  let first: { grant: Grant; refreshToken: string } | undefined;
  let making: Promise<unknown> = Promise.resolve();

  acme.answer = (response, { grant_type, refresh_token = '' }) => {
    const isFirst = grant_type === 'authorization_code';
    const grant = isFirst ? first?.grant : granted.get(refresh_token);
    if (grant === undefined) {
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
      return;
    }
    const refreshToken = (isFirst ? first?.refreshToken : undefined) ?? refresh_token;
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
  created(await admin.put('/v1/oauth-apps/acme', { client_id: 'gateway', definition }));

  return {
    issuer,
    async connect({ name, owner, body = { provider: 'acme' }, ...grant }) {
      const refreshToken = `CANARY-refresh-${randomUUID()}`;
      const sub = randomUUID();
      const goThere = (given: Grant, go: () => Promise<void>) =>
        inTurn(async () => {
          first = { grant: given, refreshToken };
          acme.account = { sub, email: `${name}@acme.example` };
          await go();
          first = undefined;
        });
      const connection = created(await owner.post('/v1/connections', { ...body, name }));
      await goThere(grant, () => authorize(owner, connection.authorization_url));
      const path = `/v1/connections/${connection.id}/refresh`;
      return {
        id: connection.id,
        name,
        grants: (next) => void granted.set(refreshToken, next),
        regrant: goThere,
        async refresh(next) {
          granted.set(refreshToken, next);
          created(await owner.post(path));
        },
        async lose() {
          granted.delete(refreshToken);
          const { body: refusal } = await owner.post(path);
          if (refusal.error !== 'reauth_required') throw new Error(JSON.stringify(refusal));
        },
      };
    },
    [Symbol.asyncDispose]: () => acme[Symbol.asyncDispose](),
  };

  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = making.then(work);
    making = turn.catch(() => undefined);
    return turn;
  }
}

/** What the owner's browser does: it presses the button of the gate and follows where it is sent. */
export async function authorize(owner: Person, authorizationUrl: string): Promise<void> {
  const gate = new URL(authorizationUrl).pathname;
  if ((await owner.get(gate)).status !== 200) throw new Error('the gate is closed');
  const begun = await owner.post(gate);
  const atProvider = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
  const { pathname, search } = new URL(atProvider.headers.get('location') ?? '');
  const back = await owner.get(pathname + search);
  if (back.status !== 200) throw new Error(`coming back: ${back.status} ${back.body}`);
}
